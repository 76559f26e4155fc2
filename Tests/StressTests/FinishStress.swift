import Synchronization
import Testing
import TestingProcedureKit

/// The ways in which a run ends in `finishFromAllSides`.
private enum Side: Error, CaseIterable {
  case cancel
  case timeout
}

extension StressTests {
  @Test("Runs that are finished, cancelled and timed out at the same time, from three sides and by cancelAll, end once")
  func finishFromAllSides() async throws {
    try await Stress.run("finish from all sides", width: 8) { queue, counts, seed in
      let batch = 8
      let seen = Mutex<[String: Int]>([:])
      for number in 0..<(Stress.many / 2 / batch) {
        let token = counts.token()
        let probes = (0..<batch).map { _ in ProbeProcedure<Void, Int>("probe") }
        let handles = probes.map { probe in
          counts.watch(
            queue.add(
              ProcedureTask {
                defer { withExtendedLifetime(token) {} }
                return try await counts.execute { try await probe.execute(()) }
              }))
        }
        for probe in probes { try await probe.waitUntilStarted() }
        var random = SeededGenerator(seed: seed << 20 + UInt64(number))
        let orders = (0..<3).map { _ in Array(0..<batch).shuffled(using: &random) }
        await withTaskGroup(of: Void.self) { tasks in
          tasks.addTask { for index in orders[0] { probes[index].finish(index) } }
          for (order, side) in zip(orders.dropFirst(), Side.allCases) {
            // A cancellation takes effect immediately, while a body that is asked to finish must first get a thread.
            let lead = number % 4
            tasks.addTask {
              for index in order {
                for _ in 0..<lead { await Task.yield() }
                handles[index].cancel(side)
              }
            }
          }
          if number % 10 == 0 { tasks.addTask { queue.cancelAll() } }
        }
        for (index, handle) in handles.enumerated() {
          let outcome = await handle.outcome
          switch outcome {
          case .finished(let value): #expect(value == index)
          case .cancelled(let reason): #expect(reason == nil || reason is Side)
          default: Issue.record("\(outcome)")
          }
          seen.withLock { $0["\(outcome.withoutValue)", default: 0] += 1 }
        }
      }
      #expect(seen.withLock { $0.count } >= 3, "\(seen.withLock { $0 })")
    }
  }
}
