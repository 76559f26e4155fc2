import Testing

@testable import ProcedureKit

@Suite struct QueueMachineSuspensionTests {
  @Test("Q2: a suspended queue starts nothing and evaluates nothing, whoever comes and whoever asks")
  func suspended() {
    var machine = QueueMachine(width: .max, isSuspended: true)
    var actions: [QueueMachine.Action] = []
    for kind in [QueueMachine.Kind.detached, .structured, .helper] {
      let member = machine.admitted(kind, priority: 17, &actions)
      #expect(machine.isListed(member) && !machine.members[Int(member)].holdsSlot)
    }
    let added = machine.admitted(.detached, priority: 17, hasConditions: true, &actions)
    let called = machine.admitted(.structured, priority: 17, hasConditions: true, &actions)
    for _ in 0..<2 {
      #expect(machine.evaluationStarted(called) == false)
      #expect(machine.isListed(added) && machine.isListed(called))
    }
    #expect(machine.ask() == .end)
    #expect(machine.collect { $0.widthChanged(to: 9, &$1) } == [])
    #expect(actions == [])
    // Those that are not a worker's stand behind one that is.
    #expect(machine.resume() == [.wake(called), .addWorker(priority: 17)])
    #expect(machine.evaluationStarted(called) == true)
    #expect(machine.ask() == .evaluate(added))
    #expect(machine.ask(isNew: false) == .execute(0))
    #expect([1, 2].allSatisfy { machine.members[$0].holdsSlot })
  }

  @Test("Q2: what executes on a suspended queue goes on, also after it has lent its slot; its next piece waits")
  func executingGoesOn() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    let other = machine.admit(.structured)
    machine.suspend()
    #expect(machine.startLoan(body) == [])
    #expect(machine.endLoan(body) == true)
    #expect(machine.startPiece(body) == false)
    #expect(machine.slots.taken == 0)
    #expect(machine.resume() == [.wake(body)])
    #expect(machine.end(body) == [.wake(other)])
  }

  @Test("Q2: a run that has its slot, but has not started, does not start after the queue has been suspended")
  func suspendedBetweenSlotAndBody() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let first = machine.execute()
    let second = machine.admit(.structured)
    #expect(machine.end(first) == [.wake(second)])
    machine.suspend()
    #expect(machine.startPiece(second) == false)
    #expect(machine.slots.taken == 0)
    #expect(machine.resume() == [.wake(second)])
    #expect(machine.startPiece(second) == true)
    #expect(machine.bodyStarted(second) == true)
  }

  @Test("Q2: a worker that was ordered before finds nothing, and is ordered again")
  func workerComesTooLate() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let run = machine.admit(.detached)
    machine.suspend()
    #expect(machine.resume() == [])
    machine.suspend()
    #expect(machine.ask() == .end)
    #expect(machine.resume() == [.addWorker(priority: 17)])
    #expect(machine.ask() == .execute(run))
  }

  @Test("Conditions are evaluated without a slot, by a worker or by the task of `run`")
  func conditions() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let (added, called) = (
      machine.admit(.detached, hasConditions: true), machine.admit(.structured, hasConditions: true)
    )
    #expect(machine.ask() == .evaluate(added))
    #expect(!machine.isListed(called))
    #expect(machine.slots.taken == 0)
    #expect(machine.collect { $0.conditionsSettled(called, .satisfied, &$1) } == [])
    #expect(machine.members[Int(called)].holdsSlot)
    #expect(machine.collect { $0.conditionsSettled(added, .unsatisfied, &$1) } == [.finish(added)])
  }

  @Test("D1: dependencies that are not satisfied finish a run before its conditions; satisfied ones lead on to them")
  func dependencies() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let (first, second) = (
      machine.admit(.detached, hasDependencies: true, hasConditions: true),
      machine.admit(.detached, hasDependencies: true, hasConditions: true)
    )
    #expect(machine.collect { $0.dependenciesSettled(first, .unsatisfied, &$1) } == [.finish(first)])
    #expect(machine.collect { $0.dependenciesSettled(second, .satisfied, &$1) } == [.addWorker(priority: 17)])
    #expect(machine.ask() == .evaluate(second))
  }

  @Test("Q4: a queue that was shut down still lets its members go on")
  func shutDown() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let run = machine.admit(.detached)
    machine.shutDown()
    #expect(machine.isShutDown)
    #expect(machine.ask() == .execute(run))
  }
}
