import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct DeterminismTests {
  private actor Counter {
    private(set) var value = 0
    func increment() -> Int {
      value += 1
      return value
    }
  }

  /// Returns an exploration as text, with the order of tasks and the observations of the body for every schedule.
  private func trace(seed: UInt64, _ strategy: ExplorationStrategy) async throws -> String {
    let pool = ThreadPool()
    defer { pool.shutDown() }
    // The task ends on its own and is never cancelled.
    return try await Task(executorPreference: pool) { try trace(seed: seed, strategy, on: pool) }.value
  }

  private func trace(seed: UInt64, _ strategy: ExplorationStrategy, on pool: ThreadPool) throws -> String {
    let lines = Locked<[String]>([])
    var choosers = try ChooserSource(strategy, seed: seed)
    for schedule in 0..<20 {
      let next = try #require(choosers.next(schedule))
      let run = ScheduleRun(
        schedule: schedule, seed: next.seed, stepLimit: 100_000, patience: .zero, allowsUncontrolled: false)
      let outcome = try run.run(next.chooser, on: pool) { env in
        let counter = Counter()
        await withTaskGroup(of: Void.self) { group in
          for child in 0..<8 {
            group.addTask {
              let delay = env.random.below(3)
              try? await env.clock.sleep(for: .seconds(delay))
              let number = await counter.increment()
              await Task.yield()
              lines { $0.append("\(child) \(delay) \(number) \(env.clock.now)") }
              Task(executorPreference: env.executor) { _ = await counter.increment() }
            }
          }
        }
      }
      choosers.didRun(outcome.record)
      #expect(outcome.problems.isEmpty)
      lines { $0.append("\(outcome.record.tasks) \(outcome.record.choices)") }
    }
    return lines.value.joined(separator: "\n")
  }

  @Test(
    "The same seed gives the same trace each time, byte for byte",
    arguments: [ExplorationStrategy.random, .priorities(changePoints: 3), .mixed(), .roundRobin])
  func sameSeed(strategy: ExplorationStrategy) async throws {
    let first = try await trace(seed: 11, strategy)
    for _ in 1..<(TestDepth.isAtLeastGate ? 10 : 4) { #expect(try await trace(seed: 11, strategy) == first) }
    if strategy != .roundRobin { #expect(try await trace(seed: 12, strategy) != first) }
  }

  @Test("The trace of a seed is the same on every machine")
  func everywhere() async throws {
    let text = try await trace(seed: 11, .random)
    let fingerprint = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    #expect(fingerprint == 13_641_892_145_500_316_509)
  }
}
