import TestSupport
import Testing
import TestingProcedureKit

@Suite struct PlantedBugTests {
  private static let bugs: [any PlantedBug.Type] = [
    LostWakeUp.self, DoubleResume.self, ReleaseByNonOwner.self, CheckThenAct.self, FinishBeforeValue.self,
    TellBeforeChange.self,
  ]

  private static let strategies: [ExplorationStrategy] = [.mixed(), .random, .priorities()]

  @Test(
    "Each planted bug is found within 1,000 schedules, whatever the seed, and its replay shows it again",
    arguments: bugs.indices, strategies)
  func found(bug: Int, strategy: ExplorationStrategy) async throws {
    let bug = Self.bugs[bug]
    for seed in 0..<UInt64(TestDepth.count(5, least: 1)) {
      let failure = try await #require(throws: ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await exploreSchedules(1_000, seed: seed, strategy: strategy) {
          try await bug.scenario(.broken, $0)
        }
      }
      let again = try await #require(throws: ExplorationFailure.self, "\(bug) replayed: \(failure)") {
        try await exploreSchedules(strategy: .replay(failure.replay)) { try await bug.scenario(.broken, $0) }
      }
      #expect(again.order == failure.order)
    }
  }

  @Test("The default strategy finds each planted bug within 200 schedules, for ten seeds", arguments: bugs.indices)
  func foundByDefault(bug: Int) async throws {
    let bug = Self.bugs[bug]
    for seed in 0..<10 as Range<UInt64> {
      let failure = try await #require(throws: ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await exploreSchedules(200, seed: seed) { try await bug.scenario(.broken, $0) }
      }
      #expect(failure.failsAgain == true, "\(bug) with seed \(seed): \(failure)")
    }
  }

  @Test("Without its bug, each passes 1,000 schedules", arguments: bugs.indices, strategies)
  func fixed(bug: Int, strategy: ExplorationStrategy) async throws {
    let bug = Self.bugs[bug]
    let summary = try await exploreSchedules(TestDepth.count(1_000), strategy: strategy) {
      try await bug.scenario(.fixed, $0)
    }
    #expect(summary.distinctTraces > 1, "\(bug): \(summary)")
  }
}
