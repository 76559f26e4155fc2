import Testing

@testable import ProcedureKit

@Suite struct QueueMachineLoanTests {
  @Test("Q3: a body of a queue of width one lends its slot to what it awaits, and gets it back before newcomers")
  func loan() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    let child = machine.admit(.structured, inheriting: machine.members[Int(body)].order)
    let newcomer = machine.admit(.structured)
    #expect(machine.startLoan(body) == [.wake(child)])
    #expect(machine.bodyStarted(child) == true)
    machine.bodyEnded(child)
    #expect(machine.collect { $0.left(child, &$1) } == [])
    #expect(machine.endLoan(body) == true)
    #expect(machine.collect { $0.settled(&$1) } == [])
    #expect(machine.end(body) == [.wake(newcomer)])
  }

  @Test("Q3: who wants its slot back waits for one, before all that is ready and in order of return")
  func returning() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    let (first, second) = (machine.execute(), machine.execute())
    let (third, fourth) = (machine.admit(.structured), machine.admit(.structured))
    _ = machine.admit(.structured, priority: 25)
    #expect(machine.startLoan(first) == [.wake(4)])
    #expect(machine.startLoan(second) == [.wake(third)])
    for run in [third, 4] { #expect(machine.bodyStarted(run) == true) }
    #expect(machine.endLoan(second) == false)
    #expect(machine.endLoan(first) == false)
    #expect(machine.end(third) == [.wake(second)])
    #expect(machine.end(4) == [.wake(first)])
    #expect(machine.end(first) == [.wake(fourth)])
  }

  @Test("Q3: the slot comes back when the last of several awaits in one body is over")
  func severalLoans() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    for _ in 0..<3 { #expect(machine.startLoan(body) == []) }
    for left in [2, 1, 0] {
      #expect(machine.endLoan(body) == true)
      #expect(machine.members[Int(body)].holdsSlot == (left == 0))
    }
    #expect(machine.slots.taken == 1)
  }

  @Test("Q3: a part that waits for the slot goes on without it when another part of the body awaits meanwhile")
  func partReturnsWhileAnotherLends() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    _ = machine.startLoan(body)
    let other = machine.execute()
    #expect(machine.endLoan(body) == false)
    #expect(machine.startLoan(body) == [.wake(body)])
    #expect(machine.end(other) == [])
    #expect(machine.endLoan(body) == true)
  }

  @Test("Q3: a part that waits for its turn goes on when another part awaits, and the body takes no second slot")
  func partWaitsForTurnWhileAnotherLends() {
    for width in [1, 2] {
      var machine = QueueMachine(width: width, isSuspended: false)
      let body = machine.execute()
      machine.suspend()
      #expect(machine.startPiece(body) == false)
      #expect(machine.startLoan(body) == [])
      #expect(machine.isInLine(body))
      #expect(machine.resume() == [.wake(body)])
      #expect(machine.endLoan(body) == true)
      #expect(machine.slots.taken == 1)
      #expect(machine.end(body) == [])
      #expect(machine.slots.taken == 0)
    }
  }

  @Test("Q2, Q3: a body may have its slot back on a suspended queue, while another part of it waits for its turn")
  func slotComesBackWhileSuspended() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    machine.suspend()
    _ = machine.startLoan(body)
    #expect(machine.startPiece(body) == false)
    #expect(machine.endLoan(body) == true)
    #expect(machine.isInLine(body) && machine.slots.taken == 1)
    #expect(machine.resume() == [.wake(body)])
    #expect(!machine.isInLine(body) && machine.slots.taken == 1)
  }

  @Test("Q3: a body that wants its slot back and waits for its turn is given one slot for both")
  func returnsAndWaitsForTurn() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    _ = machine.startLoan(body)
    let other = machine.execute()
    machine.suspend()
    #expect(machine.startPiece(body) == false)
    #expect(machine.endLoan(body) == false)
    #expect(machine.isInLine(body) && machine.isReturning(body))
    #expect(machine.resume() == [])
    #expect(machine.end(other) == [.wake(body), .wake(body)])
    #expect(!machine.isListed(body) && machine.slots.taken == 1)
  }

  @Test("A body that ends leaves nobody waiting whom it had started", arguments: [true, false])
  func bodyEndsWhilePartsWait(waitsForTurn: Bool) {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    if waitsForTurn {
      machine.suspend()
      #expect(machine.startPiece(body) == false)
    } else {
      _ = machine.startLoan(body)
      _ = machine.execute()
      #expect(machine.endLoan(body) == false)
    }
    #expect(machine.end(body) == [.wake(body)])
  }

  @Test("A graph's worker that is not needed any more leaves its place in line to others")
  func helperLeaves() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let (first, second, third) = (machine.admit(.helper), machine.admit(.helper), machine.admit(.structured))
    _ = machine.leave(second)
    #expect(!machine.isListed(second))
    #expect(machine.leave(first) == [.wake(third)])
    #expect(machine.slots.taken == 1)
  }

  @Test("Q4: a queue is idle when none is left but those that wait for it to be idle, and empty when none is left")
  func idle() {
    var machine = QueueMachine(width: 3, isSuspended: false)
    #expect(machine.isIdle && machine.isEmpty)
    let (first, second) = (machine.execute(), machine.execute())
    _ = machine.admit(.helper)
    machine.idleWaitStarted(first)
    machine.idleWaitStarted(first)
    #expect(!machine.isIdle)
    machine.idleWaitStarted(second)
    #expect(machine.isIdle && !machine.isEmpty)
    machine.idleWaitEnded(first)
    #expect(machine.isIdle)
    machine.idleWaitEnded(first)
    #expect(!machine.isIdle)
    _ = machine.end(first)
    #expect(machine.isIdle)
    _ = machine.end(second)
    #expect(machine.isIdle && machine.isEmpty)
  }

  @Test("More loans cannot end than have started, and nobody leaves twice")
  func trapsOnMisuse() async {
    await #expect(processExitsWith: .failure) {
      var machine = QueueMachine(width: 1, isSuspended: false)
      _ = machine.endLoan(machine.execute())
    }
    await #expect(processExitsWith: .failure) {
      var machine = QueueMachine(width: 1, isSuspended: false)
      let helper = machine.admit(.helper)
      _ = machine.leave(helper)
      _ = machine.leave(helper)
    }
    await #expect(processExitsWith: .failure) {
      var machine = QueueMachine(width: 1, isSuspended: false)
      _ = machine.leave(machine.execute())
    }
  }
}
