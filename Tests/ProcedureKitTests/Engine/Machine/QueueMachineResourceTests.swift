import Testing

@testable import ProcedureKit

@Suite struct QueueMachineResourceTests {
  @Test("R2: a run that waits for resources holds no slot, and comes first when it has them")
  func waitingForResources() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let claimant = machine.admit(.detached, hasResources: true)
    let urgent = machine.admit(.detached, priority: 25)
    #expect(machine.ask() == .execute(urgent))
    _ = machine.end(urgent)
    #expect(machine.ask(isNew: false) == .claim(claimant))
    #expect(machine.awaitResources(for: claimant) == [])
    #expect(machine.slots.taken == 0)
    let late = machine.admit(.detached, priority: 25)
    _ = machine.grantResources(to: claimant)
    #expect(machine.ask() == .execute(claimant))
    _ = machine.end(claimant)
    #expect(machine.ask() == .execute(late))
  }

  @Test("R2: a run whose task has not started the body when the queue is suspended gives back what it holds")
  func suspendedBetweenGrantAndStart() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let run = machine.admit(.structured, hasResources: true)
    _ = machine.awaitResources(for: run)
    #expect(machine.grantResources(to: run) == [.wake(run)])
    machine.suspend()
    // Its task comes now, and finds that it may not start.
    #expect(
      machine.collect { machine, actions in _ = machine.pieceStarted(run, &actions) } == [.giveBackResources(run)])
    #expect(machine.resume() == [.wake(run)])
    #expect(machine.members[Int(run)].holdsSlot && machine.members[Int(run)].resources == .wanted)
  }

  @Test("R2: runs that hold what they want while the queue is suspended give it back, and claim it again")
  func suspendedInLine() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let busy = machine.execute()
    let run = machine.admit(.detached, hasResources: true)
    let waiting = machine.startLoan(busy)
    #expect(waiting == [.addWorker(priority: 17)])
    #expect(machine.ask() == .claim(run))
    _ = machine.awaitResources(for: run)
    _ = machine.endLoan(busy)
    _ = machine.grantResources(to: run)
    let givenBack = machine.collect { $0.suspended(&$1) }
    #expect(givenBack == [.giveBackResources(run)])
    #expect(machine.grantResources(to: run) == [])
    _ = machine.end(busy)
    #expect(machine.resume() == [.addWorker(priority: 17)])
    #expect(machine.ask() == .claim(run))
  }

  @Test("Q1: of runs that hold what they want the first admitted has the next slot, whoever waits for it")
  func orderAmongHolders() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let busy = machine.execute()
    let (first, second) = (machine.admit(.detached, hasResources: true), machine.admit(.structured, hasResources: true))
    _ = machine.startLoan(busy)
    #expect(machine.ask() == .claim(first))
    _ = machine.awaitResources(for: first)
    _ = machine.awaitResources(for: second)
    // Both are granted at one moment, with one slot free.
    _ = machine.grantResources(to: first)
    #expect(machine.grantResources(to: second) == [])
    #expect(machine.ask(isNew: false) == .execute(first))
  }
}
