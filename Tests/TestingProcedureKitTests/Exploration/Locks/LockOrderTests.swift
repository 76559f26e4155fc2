import ExploredLocks
import Testing

@testable import TestingProcedureKit

@Suite struct LockOrderTests {
  private let locks = (0..<4).map { LockIdentity(CodeLocation(fileID: "Locks.swift", line: UInt($0))) }
  private let workers = (0..<4).map { _ in WorkerThread() }

  private func use(_ lock: Int, by task: Int) -> LockUse {
    LockUse(
      lock: locks[lock], worker: workers[task], task: task, location: locks[lock].location,
      point: OperationPoint(thread: .current))
  }

  /// Acquires the locks, each while holding the previous ones, and releases them.
  private func nest(_ path: [Int], by task: Int, in table: inout LockTable) {
    for lock in path {
      guard case .taken = table.willLock(use(lock, by: task)) else {
        Issue.record("\(lock) is held")
        return
      }
    }
    for lock in path.reversed() { _ = table.didUnlock(locks[lock]) }
  }

  @Test(
    "A cycle needs different tasks without a common lock",
    arguments: [
      ([(0, [0, 1]), (1, [1, 0])], 2), ([(0, [0, 1]), (0, [1, 0])], nil), ([(0, [2, 0, 1]), (1, [2, 1, 0])], nil),
      ([(0, [0, 1]), (1, [1, 2]), (2, [2, 0])], 3), ([(0, [0, 1]), (1, [1, 2]), (0, [2, 0])], nil),
      ([(0, [0, 1]), (1, [0, 1]), (2, [1, 2])], nil), ([(0, [2, 0, 1]), (1, [1, 0])], 2),
    ] as [([(Int, [Int])], Int?)])
  func cycles(_ nests: [(Int, [Int])], _ members: Int?) {
    var table = LockTable()
    for (task, path) in nests { nest(path, by: task, in: &table) }
    #expect(table.possibleDeadlock?.members.count == members)
  }

  @Test("Waits that close a cycle are reported as a deadlock, with the locks and the locations")
  func deadlock() throws {
    var table = LockTable()
    for task in 0..<3 { _ = table.willLock(use(task, by: task)) }
    for task in 0..<2 {
      guard case .held = table.willLock(use(task + 1, by: task)) else {
        Issue.record("not held")
        return
      }
    }
    #expect(table.lastHolder(of: locks[0]) === workers[2])
    #expect(table.lines.last == "task 1 is waiting at Locks.swift:2 for the lock created at Locks.swift:2")
    guard case .deadlock(let cycle) = table.willLock(use(0, by: 2)) else {
      Issue.record("no deadlock")
      return
    }
    #expect(cycle.members.map(\.task) == [2, 0, 1])
    #expect(cycle.members.map(\.held) == ["Locks.swift:2", "Locks.swift:0", "Locks.swift:1"])
    #expect(cycle.members.map(\.taken) == ["Locks.swift:0", "Locks.swift:1", "Locks.swift:2"])
    let waiting = table.takeWaiting()
    #expect(waiting.count == 3)
  }

  @Test("Tasks that waited for a lock request it again, in order, when it is released")
  func passRunToken() {
    var table = LockTable()
    for task in 0..<3 { _ = table.willLock(use(0, by: task)) }
    let waiters = table.didUnlock(locks[0])
    #expect(waiters.map(\.task) == [1, 2])
    let taken = [2, 1].map { table.willLockIfAvailable(use(0, by: $0)) }
    #expect(taken == [true, false])
    #expect(table.possibleDeadlock == nil)
  }
}
