import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

/// Tests that a worker yields between bodies that do not suspend, so that other tasks can use the thread.
@Suite(.timeLimit(.minutes(10))) struct FairnessTests {
  private static let count = 10_000

  /// An executor that executes one task at a time.
  private let executor = MeteredExecutor()
  private let executed = Box(0)
  private let other = Box<Task<Int, Never>?>(nil)

  /// Returns a procedure whose body does not suspend. The first body starts another task, which returns the number of bodies that executed
  /// before it.
  private func body() -> ProcedureTask<Void, Void> {
    ProcedureTask("short") { [executor, executed, other] in
      let number = executed.update {
        $0 += 1
        return $0
      }
      guard number == 1 else { return }
      // The test awaits the task.
      let task = Task(executorPreference: executor) { executed.value }
      other.update { $0 = task }
    }
  }

  private func expectOtherInBetween() async throws {
    let before = await (try #require(other.value)).value
    #expect(executed.value == Self.count && before < Self.count, "\(before)")
  }

  @Test("Many short bodies of a queue let other tasks of their executor run in between")
  func bodies() async throws {
    let queue = ProcedureQueue(
      "q", maxConcurrentProcedures: 1, isSuspended: true, clock: VirtualClock(), executor: executor)
    let handles = (0..<Self.count).map { _ in queue.add(body()) }
    queue.resume()
    for handle in handles { try await handle.value }
    try await expectOtherInBetween()
  }

  @Test("Many short nodes of a graph without a queue let other tasks of their executor run in between")
  func nodes() async throws {
    let graph = ProcedureGraph("chain", returning: Void.self) { g in
      var last = g.add(body())
      for _ in 1..<Self.count { last = g.add(body(), after: [last]) }
    }
    try await Task(executorPreference: executor) { try await graph.execute(()) }.value
    try await expectOtherInBetween()
  }
}
