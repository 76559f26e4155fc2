import Testing

@testable import ProcedureKit

/// Runs that need nothing but a slot come and start in one step, and end and leave in one.
@Suite struct QueueMachineShortWayTests {
  private func start(_ machine: inout QueueMachine, _ priority: UInt8) -> Int32? {
    machine.startedAtOnce(priority: priority)
  }

  private func finish(_ machine: inout QueueMachine, _ member: Int32) -> Bool {
    machine.finishedAtOnce(member)
  }

  @Test("Who finds a free slot starts at once, and leaves nothing behind")
  func oneAfterAnother() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    for _ in 0..<3 {
      guard let member = start(&machine, 20) else {
        Issue.record("There is a slot")
        return
      }
      #expect(machine.members[Int(member)].lifecycle.state == .executing)
      #expect(start(&machine, 20) == nil)
      #expect(finish(&machine, member))
      #expect(machine.isEmpty && machine.slots.taken == 0)
    }
    #expect(machine.members.count == 1)
  }

  @Test("Nobody starts at once on a suspended queue, or one that has been shut down, or before somebody more urgent")
  func others() {
    var machine = QueueMachine(width: 1, isSuspended: true)
    #expect(start(&machine, 20) == nil)
    var actions: [QueueMachine.Action] = []
    _ = machine.admitted(.detached, priority: 20, &actions)
    machine.resumed(&actions)
    #expect(start(&machine, 20) == nil)
    #expect(start(&machine, 21) != nil)

    var closed = QueueMachine(width: 1, isSuspended: false)
    closed.shutDown()
    #expect(start(&closed, 20) == nil)
  }

  @Test("Whoever has lent its slot, or is waited for, does not leave at once")
  func ends() throws {
    var machine = QueueMachine(width: 1, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    let lender = try #require(start(&machine, 20))
    machine.loanStarted(lender, &actions)
    #expect(!finish(&machine, lender))

    var other = QueueMachine(width: 1, isSuspended: false)
    let first = try #require(start(&other, 20))
    _ = other.admitted(.detached, priority: 20, &actions)
    #expect(!finish(&other, first))
  }
}
