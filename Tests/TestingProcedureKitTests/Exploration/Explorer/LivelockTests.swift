import TestSupport
import Testing

@testable import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct LivelockTests {
  private static func explorer(seed: UInt64) -> ScheduleExplorer {
    var explorer = ScheduleExplorer(schedules: 200, seed: seed)
    explorer.stepLimit = 4_000
    return explorer
  }

  @Test(
    "A livelock is found within 200 schedules, and reported as a short schedule with the tasks that run in a loop",
    arguments: 0..<UInt64(TestDepth.count(10, least: 3)))
  func found(seed: UInt64) async throws {
    let failure = try await requireError(ExplorationFailure.self) {
      try await Self.explorer(seed: seed).explore { try await LostToken.scenario(.broken, $0) }
    }
    let livelock = try #require(failure.problems.first?.livelock)
    #expect(livelock.cycle?.isEmpty == false && livelock.furtherSteps == nil, "seed \(seed): \(failure)")
    #expect(livelock.tasks == ["3"], "seed \(seed): \(failure)")
    #expect(failure.deviations.reported <= 6, "seed \(seed): \(failure)")
    #expect(failure.failsAgain == true)
    #expect("\(failure.problems)".contains("tasks that run in a loop: 3 "), "\(failure)")
    let again = try await requireError(ExplorationFailure.self) {
      var explorer = ScheduleExplorer(strategy: .replay(failure.replay))
      explorer.stepLimit = 4_000
      return try await explorer.explore { try await LostToken.scenario(.broken, $0) }
    }
    #expect(again.problems.first?.livelock?.cycle == livelock.cycle)
  }

  @Test("The corrected version passes")
  func fixed() async throws {
    var explorer = Self.explorer(seed: 0)
    explorer.schedules = TestDepth.count(10_000)
    try await explorer.explore { try await LostToken.scenario(.fixed, $0) }
  }

  @Test("A body that is merely long ends when the tasks take turns, and the report says so")
  func long() async throws {
    var explorer = ScheduleExplorer(schedules: 1)
    explorer.stepLimit = 100
    let failure = try await requireError(ExplorationFailure.self) {
      try await explorer.explore { _ in for _ in 0..<70 { await Task.yield() } }
    }
    #expect("\(failure.problems)".contains("in which the tasks took turns"), "\(failure)")
  }

  @Test("A cycle is the shortest sequence that repeats throughout the second half")
  func cycles() {
    #expect(Livelock.cycle(of: Array(repeating: [1, 2, 2], count: 20).flatMap(\.self)) == [1, 2, 2])
    #expect(Livelock.cycle(of: [9, 8] + Array(repeating: 4, count: 30)) == [4])
    #expect(Livelock.cycle(of: Array(0..<40)) == nil)
    #expect(Livelock.cycle(of: [1, 1]) == nil)
  }

  @Test("An event that has to happen, but does not in some or all schedules, fails with its location")
  func eventually() async throws {
    let body: @Sendable (Bool, ExplorationEnvironment) async throws -> Void = { forgets, env in
      let (isServed, isBusy) = (Locked(false), Locked(false))
      env.eventually("the customer is served") { isServed.value }
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          for _ in 0..<3 {
            isBusy { $0 = true }
            await Task.yield()
            isBusy { $0 = false }
            await Task.yield()
          }
        }
        group.addTask {
          while isBusy.value, !forgets { await Task.yield() }
          if !isBusy.value { isServed { $0 = true } }
          isServed { $0 = $0 && forgets }  // only for a moment, in the corrected version
        }
      }
    }
    for seed in 0..<10 as Range<UInt64> {
      let failure = try await requireError(ExplorationFailure.self) {
        try await exploreSchedules(200, seed: seed) { try await body(true, $0) }
      }
      #expect(
        "\(failure.problems)".contains("never happened: the customer is served (TestingProcedureKitTests/"),
        "\(failure)")
    }
    try await exploreSchedules(100) { env in
      let step = Locked(0)
      env.eventually("the step is reached for a moment") { step.value == 2 }
      for number in 1...3 {
        step { $0 = number }
        await Task.yield()
      }
    }
  }
}
