import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ReplayDivergenceTests {
  /// Returns a body that fails if the second of two children ends before the first.
  private static func body(yields: Int) -> @Sendable (ExplorationEnvironment) async throws -> Void {
    { env in
      let order = Locked("")
      await withTaskGroup(of: Void.self) { group in
        for name in ["a", "b"] {
          group.addTask {
            for _ in 0..<yields { await Task.yield() }
            order { $0 += name }
          }
        }
      }
      env.check(order.value == "ab")
    }
  }

  @Test("A replay fails in the same order; a replay of different code is an error that names the step")
  func otherCode() async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(1_000, Self.body(yields: 2))
    }
    #expect(failure.failsAgain == true)
    let again = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.body(yields: 2))
    }
    #expect(again.order == failure.order)
    let diverged = try await #require(throws: ReplayDiverged.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), Self.body(yields: 3))
    }
    #expect(diverged.expectedSteps == failure.order.count)
    let same = zip(diverged.order, failure.order).prefix { $0 == $1 }.count
    #expect((same + 1...same + 12).contains(diverged.step), "\(diverged): equal for \(same) steps")
    #expect("\(diverged)".contains("diverged at or before step \(diverged.step) of"))
  }

  @Test("A failure that depends on the random numbers of a queue fails again in a replay")
  func queueSeed() async throws {
    let body: @Sendable (ExplorationEnvironment) async throws -> Void = { env in
      let seed = env.adapted(ProcedureQueue.Configuration("q")).seed ?? 0
      env.check(seed % 8 != 3)
    }
    let failure = try await requireError(ExplorationFailure.self) { try await exploreSchedules(1_000, body) }
    #expect(failure.failsAgain == true)
    _ = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(strategy: .replay(failure.replay), body)
    }
  }

  @Test("A failure that depends on more than the choices does not fail again, and the report states this")
  func flickering() async throws {
    let runs = Locked(0)
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules { env in
        runs { $0 += 1 }
        env.check(runs.value != 3)
      }
    }
    #expect("\(failure.problems)".contains("the same choices led to different runs"), "\(failure)")
  }

  @Test("State that outlives a schedule is also found in bodies that pass")
  func outliving() async throws {
    let runs = Locked(0)
    let failure = try await requireError(ExplorationFailure.self) {
      try await exploreSchedules(200) { _ in
        runs { $0 += 1 }
        for _ in 0..<(runs.value % 7) { await Task.yield() }
      }
    }
    #expect(failure.schedule == 99)
    #expect("\(failure.problems)".contains("the same choices led to different runs at or before step"), "\(failure)")
  }

  @Test(
    "A trail of any order can be written and parsed, and detects every change",
    arguments: 0..<50 as Range<UInt64>)
  func trails(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let tasks = (0..<(1 + generator.below(200))).map { _ in generator.below(5) }
    let trail = OrderTrail(tasks)
    #expect(OrderTrail("\(trail)"[...]) == trail)
    #expect(trail.divergence(of: tasks) == nil)
    let changed = generator.below(tasks.count)
    var others = tasks
    others[changed] += 1
    let step = try #require(trail.divergence(of: others), "seed \(seed)")
    #expect(step > changed)
    #expect(trail.divergence(of: tasks + [0]) != nil)
    #expect(trail.divergence(of: Array(tasks.dropLast())) != nil)
  }
}
