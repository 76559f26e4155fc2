import TestSupport
import Testing
import TestingProcedureKit

/// Tests groups that are cancelled while their children add children.
extension StressTests {
  private static let groups = TestDepth.isAtLeastGate ? 300 : 100

  /// Adds many groups, and cancels two out of three of them in a different order from another task, some of them while they execute.
  private func cancelGroups(
    _ group: ProcedureTask<Void, Void>, on queue: ProcedureQueue, _ counts: RunCounts, seed: UInt64
  ) async {
    let handles = (0..<Self.groups).map { _ in counts.watch(queue.add(group)) }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        var random = SeededGenerator(seed: seed)
        for handle in handles.filter({ _ in Int.random(in: 0..<3, using: &random) > 0 }).shuffled(using: &random) {
          for _ in 0..<Int.random(in: 0..<40, using: &random) { await Task.yield() }
          handle.cancel()
        }
      }
    }
    let count = await OutcomeCount(of: handles)
    #expect(count.finished + count.cancelled == Self.groups, "\(count)")
    #expect(count.finished > 0 && count.cancelled > 0, "\(count)")
  }

  @Test("Graphs whose nodes map over arrays and run graphs finish on the same queue")
  func graphs() async throws {
    try await Stress.run("graphs", width: 4) { queue, counts, seed in
      let leaf = ProcedureTask { (number: Int) in
        await counts.execute { await Task.yield() }
        return number
      }
      let inner = ProcedureGraph("inner") { (g, numbers: Node<[Int]>) in
        g.reduce(g.map(numbers, with: leaf), 0) { $0 + $1 }
      }
      let nested = ProcedureTask { (number: Int) in
        try await queue.run(inner, input: Array(0..<5)) + number
      }
      let outer = ProcedureGraph("outer") { g in
        let numbers = g.add(ProcedureTask { Array(0..<10) })
        let sums = g.map(numbers, with: nested, maxConcurrentElements: 3)
        return g.add(ProcedureTask { (sums: [Int]) in #expect(sums.count == 10) }, from: sums)
      }
      let token = counts.token()
      let task = ProcedureTask("group") {
        try await outer.execute()
        withExtendedLifetime(token) {}
      }
      await cancelGroups(task, on: queue, counts, seed: seed)
    }
  }

  @Test("Scopes whose children add children to the scope and to the surrounding queue finish")
  func scopes() async throws {
    try await Stress.run("scopes", width: 4) { queue, counts, seed in
      let task = ProcedureTask("group") {
        try await withProcedureQueue("scope", maxConcurrentProcedures: 3) { scope in
          for _ in 0..<5 {
            scope.add(
              ProcedureTask("child") {
                for _ in 0..<3 { counts.watch(scope.add(counts.worker("grandchild"))) }
                // The run is not awaited, so the group keeps its slot on the outer queue while it waits for the scope.
                counts.watch(queue.add(counts.worker("outside")))
              })
          }
          try Task.checkCancellation()
        }
      }
      await cancelGroups(task, on: queue, counts, seed: seed)
    }
  }

  @Test("Bodies that run, add and await others on their own narrow queue, four levels deep, finish")
  func nestedBodies() async throws {
    try await Stress.run("nested bodies", width: 1) { queue, counts, seed in
      @Sendable func nest(_ depth: Int) async throws {
        guard depth > 0 else { return await Task.yield() }
        let next = ProcedureTask("depth \(depth)") { try await counts.execute { try await nest(depth - 1) } }
        let added = counts.watch(queue.add(next))
        do { try await queue.run(next) } catch { added.cancel() }
        _ = await added.outcome
        try Task.checkCancellation()
      }
      await cancelGroups(ProcedureTask("group") { try await nest(4) }, on: queue, counts, seed: seed)
    }
  }
}
