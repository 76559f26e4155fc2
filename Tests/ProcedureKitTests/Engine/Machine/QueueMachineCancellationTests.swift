import Testing

@testable import ProcedureKit

@Suite struct QueueMachineCancellationTests {
  @Test("C2: a run that is cancelled before its body leaves every line at once, and its body never starts")
  func cancelBeforeBody() {
    for kind in [QueueMachine.Kind.detached, .structured] {
      for (hasDependencies, hasConditions) in [(true, false), (false, true), (false, false)] {
        var machine = QueueMachine(width: 1, isSuspended: true)
        let run = machine.admit(kind, hasDependencies: hasDependencies, hasConditions: hasConditions)
        if kind == .structured, hasConditions { #expect(machine.evaluationStarted(run) == false) }
        #expect(machine.isListed(run) == !hasDependencies)
        let ending = hasDependencies && kind == .structured ? QueueMachine.Action.interrupt(run) : .wake(run)
        #expect(machine.cancel(run) == [kind == .detached ? .finish(run) : ending])
        #expect(!machine.isListed(run) && !machine.isEmpty)
        #expect(machine.bodyStarted(run) == false)
        #expect(machine.cancel(run) == [])
        #expect(machine.resume() == [])
        #expect(machine.leave(run) == [] && machine.isEmpty)
      }
    }
  }

  @Test("C2: what settles after a cancel comes too late, and changes nothing")
  func tooLate() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let pending = machine.admit(.detached, hasDependencies: true, hasConditions: true)
    #expect(machine.cancel(pending) == [.finish(pending)])
    for verdict in RunLifecycle.Verdict.allCases {
      #expect(machine.collect { $0.dependenciesSettled(pending, verdict, &$1) } == [])
      #expect(machine.collect { $0.conditionsSettled(pending, verdict, &$1) } == [])
    }
  }

  @Test("C2: who evaluates the conditions of a cancelled run is interrupted: a worker, or the task of `run`")
  func cancelUnderEvaluation() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let (added, called) = (
      machine.admit(.detached, hasConditions: true), machine.admit(.structured, hasConditions: true)
    )
    #expect(machine.ask() == .evaluate(added))
    #expect(machine.cancel(added) == [.interrupt(added), .finish(added)])
    #expect(machine.cancel(called) == [.interrupt(called)])
  }

  @Test("C2: a run that is cancelled between its slot and its body gives the slot to the next")
  func cancelWithSlot() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let (first, second) = (machine.admit(.structured), machine.admit(.structured))
    #expect(machine.cancel(first) == [.interrupt(first)])
    #expect(machine.bodyStarted(first) == false)
    #expect(machine.leave(first) == [.wake(second)])
  }

  @Test("C2: a cancelled run was in nobody's way: who stood behind it gets a free slot at once")
  func cancelFirstInLine() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    // A worker is on its way for the first, while the second waits itself.
    let (first, second) = (machine.admit(.detached), machine.admit(.structured))
    #expect(machine.cancel(first) == [.finish(first), .wake(second)])
    #expect(machine.bodyStarted(second) == true)
    #expect(machine.ask() == .end)
  }

  @Test("C1, C3: a body that executes is told of the first cancel, and only once; it keeps its slot")
  func cancelBody() {
    for kind in [QueueMachine.Kind.detached, .structured] {
      var machine = QueueMachine(width: 1, isSuspended: false)
      let run = machine.admit(kind)
      if kind == .detached {
        #expect(machine.ask() == .execute(run))
      } else {
        #expect(machine.bodyStarted(run) == true)
      }
      #expect(machine.cancel(run) == [.interrupt(run)])
      #expect(machine.cancel(run) == [])
      #expect(machine.slots.taken == 1)
      machine.bodyEnded(run)
      #expect(machine.cancel(run) == [])
      #expect(machine.leave(run) == [])
    }
  }

  @Test("C6: a number that is used again has nothing of the member that had it before")
  func numbersAreUsedAgain() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let run = machine.execute()
    machine.idleWaitStarted(run)
    _ = machine.startLoan(run)
    _ = machine.cancel(run)
    _ = machine.end(run)
    let other = machine.execute()
    #expect(other == run)
    let member = machine.members[Int(other)]
    #expect(member.loans == 0 && machine.idleWaits(of: 0) == 0 && !member.lifecycle.isCancelled && member.holdsSlot)
    #expect(machine.slots.taken == 1)
  }
}
