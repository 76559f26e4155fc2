import Testing

@testable import ProcedureKit

@Suite struct QueueMachineOrderTests {
  @Test("Q1: a worker executes what has the highest priority, and then what was admitted first")
  func order() {
    var machine = QueueMachine(width: .max, isSuspended: true)
    for priority in [17, 25, 17, 9, 25] as [UInt8] { _ = machine.admit(.detached, priority: priority) }
    #expect(machine.resume() == [.addWorker(priority: 25)])
    let work = (0..<6).map { machine.ask(isNew: $0 == 0) }
    #expect(work == [1, 4, 0, 2, 3].map { .execute($0) } + [.end])
  }

  @Test("Q1: the task of `run` is overtaken neither by a worker nor by another task")
  func runsAndWorkersStandInOneLine() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let first = machine.execute()
    let (added, called, urgent) = (
      machine.admit(.detached), machine.admit(.structured), machine.admit(.detached, priority: 25)
    )
    #expect(machine.end(first) == [.addWorker(priority: 25)])
    #expect(machine.ask() == .execute(urgent))
    #expect(machine.end(urgent) == [.addWorker(priority: 17)])
    #expect(machine.ask() == .execute(added))
    #expect(machine.end(added) == [.wake(called)])
  }

  @Test("Q1: as many execute as the queue is wide; made wider it starts more at once, made narrower no more")
  func width() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    let runs = (0..<6).map { _ in machine.admit(.structured) }
    #expect(runs.filter { machine.members[Int($0)].holdsSlot } == [0, 1])
    #expect(machine.collect { $0.widthChanged(to: 4, &$1) } == [.wake(2), .wake(3)])
    #expect(machine.collect { $0.widthChanged(to: 1, &$1) } == [])
    // They have their slots, and have not started.
    for run in [3, 2, 1] as [Int32] { #expect(machine.startPiece(run) == false) }
    #expect(machine.startPiece(0) == true)
    #expect(machine.bodyStarted(0) == true)
    #expect(machine.slots.taken == 1)
    #expect(machine.end(0) == [.wake(1)])
  }

  @Test("Q1: what a body runs has the body's place in line")
  func inheritance() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    let other = machine.admit(.structured)
    let child = machine.admit(.structured, inheriting: machine.members[Int(body)].order)
    #expect(machine.startLoan(body) == [.wake(child)])
    #expect(machine.bodyStarted(child) == true)
    #expect(machine.end(child) == [.wake(other)])
  }

  @Test("Workers are ordered one at a time, as urgent as what they are ordered for, while somebody waits for one")
  func workersAreOrdered() {
    var machine = QueueMachine(width: 2, isSuspended: false)
    var actions: [QueueMachine.Action] = []
    for priority in [9, 25, 17] as [UInt8] { _ = machine.admitted(.detached, priority: priority, &actions) }
    #expect(actions == [.addWorker(priority: 9)])
    #expect(machine.collect { _ = $0.workerAsked(isNew: true, &$1) } == [.addWorker(priority: 17)])
    #expect(machine.collect { _ = $0.workerAsked(isNew: true, &$1) } == [])
    #expect(machine.ask(isNew: false) == .end)
  }

  @Test("Q1: a member gives way before its next piece to what comes first, and to a queue made narrower")
  func pieces() {
    var machine = QueueMachine(width: 1, isSuspended: false)
    let body = machine.execute()
    #expect(machine.startPiece(body) == true)
    let later = machine.admit(.structured)
    #expect(machine.startPiece(body) == true)
    let urgent = machine.admit(.structured, priority: 25)
    #expect(machine.startPiece(body) == false)
    #expect(machine.members[Int(urgent)].holdsSlot)
    #expect(machine.bodyStarted(urgent) == true)
    #expect(machine.end(urgent) == [.wake(body)])
    #expect(machine.end(body) == [.wake(later)])

    machine = QueueMachine(width: 2, isSuspended: false)
    let (first, second) = (machine.execute(), machine.execute())
    _ = machine.collect { $0.widthChanged(to: 1, &$1) }
    #expect(machine.startPiece(second) == false)
    #expect(machine.startPiece(first) == true)
    #expect(machine.end(first) == [.wake(second)])
  }

  @Test("The memory of a large crowd is given back when it has gone")
  func memory() {
    var machine = QueueMachine(width: .max, isSuspended: false)
    for round in 0..<2 {
      for _ in 0..<3_000 { _ = machine.admit(.detached, priority: UInt8(round), hasConditions: round == 1) }
      for member in 0..<3_000 as Range<Int32> {
        #expect(machine.cancel(member).contains(.finish(member)))
        _ = machine.leave(member)
      }
      #expect(machine.members.isEmpty)
      #expect(machine.isEmpty && machine.isIdle && !machine.isGated)
    }
  }
}
