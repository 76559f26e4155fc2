import Testing

@testable import ProcedureKit

@Suite struct QueueMachinePauseTests {
  @Test("L1: a body that pauses is at its pause until the last of its parts goes on")
  func pausing() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    machine.pauseStarted(body)
    machine.pauseStarted(body)
    #expect(machine.members[Int(body)].lifecycle.state == .pausing)
    machine.pauseEnded(body)
    #expect(machine.members[Int(body)].lifecycle.state == .pausing)
    machine.pauseEnded(body)
    #expect(machine.members[Int(body)].lifecycle.state == .executing)
    _ = machine.end(body)
    #expect(machine.isEmpty)
  }

  @Test("C3: a cancel reaches a body that pauses, which may end without going on")
  func cancelled() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    machine.pauseStarted(body)
    #expect(machine.collect { $0.cancelRequested(body, &$1) } == [.interrupt(body)])
    machine.pauseEnded(body)
    #expect(machine.members[Int(body)].lifecycle.state == .executing)
    _ = machine.end(body)
    #expect(machine.isEmpty && machine.slots.taken == 0)
  }

  @Test(
    "A cancelled body that does not wait for its slot any more leaves it to others, also while its end is carried out")
  func leavesTheLine() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    let other = machine.admit(.structured)
    #expect(machine.startLoan(body) == [.wake(other)])
    #expect(machine.bodyStarted(other) == true)
    #expect(machine.endLoan(body) == false)
    machine.bodyEnded(body)
    #expect(machine.collect { $0.slotReturned(body, &$1) } == [.wake(body)])
    #expect(!machine.isListed(body))
    #expect(machine.end(other) == [])
    #expect(machine.collect { $0.left(body, &$1) } == [])
    #expect(machine.slots.taken == 0)
  }
}
