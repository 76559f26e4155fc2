import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct PlantedBugTests {
  private static let bugs: [any PlantedBug.Type] = [
    LostWakeUp.self, DoubleResume.self, ReleaseByNonOwner.self, CheckThenAct.self, FinishBeforeValue.self,
    NotifyBeforeChange.self, LateTimer.self, StaleAnswer.self,
    OppositeLocks.self, LostUpdate.self, DoubleCheckedInitialization.self, CheckOutsideLock.self, LateListener.self,
  ]

  /// Bodies in which the same choices lead to different runs.
  private static let nondeterministic: [any PlantedBug.Type] = [
    RandomNumbers.self, TimeOfDay.self, OrderOfASet.self, OutlivingState.self, ForgottenDispatch.self,
  ]

  private static let strategies: [ExplorationStrategy] = [.mixed(), .random, .priorities()]

  @Test(
    "Each planted bug is found within 1,000 schedules, for each seed, and its replay fails again",
    arguments: bugs.indices, strategies)
  func found(bug: Int, strategy: ExplorationStrategy) async throws {
    let bug = Self.bugs[bug]
    for seed in 0..<UInt64(TestDepth.count(5, least: 1)) {
      let failure = try await requireError(ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await bug.explore(.broken, seed: seed, strategy: strategy)
      }
      let again = try await requireError(ExplorationFailure.self, "\(bug) replayed: \(failure)") {
        try await bug.explore(.broken, strategy: .replay(failure.replay))
      }
      #expect(again.order == failure.order)
    }
  }

  @Test(
    "The default strategy finds each planted bug within 200 schedules, for each seed, and each replay fails again",
    arguments: bugs.indices)
  func foundByDefault(bug: Int) async throws {
    let bug = Self.bugs[bug]
    for seed in 0..<UInt64(TestDepth.count(10, least: 3)) {
      let failure = try await requireError(ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await bug.explore(.broken, schedules: 200, seed: seed)
      }
      #expect(failure.failsAgain == true, "\(bug) with seed \(seed): \(failure)")
      let again = try await requireError(ExplorationFailure.self, "\(bug) replayed: \(failure)") {
        try await bug.explore(.broken, strategy: .replay(failure.replay))
      }
      #expect(again.order == failure.order)
    }
  }

  @Test("Nondeterminism is found within 200 schedules, for each seed", arguments: nondeterministic)
  func nondeterminism(bug: any PlantedBug.Type) async throws {
    for seed in 0..<UInt64(TestDepth.count(10, least: 3)) {
      let failure = try await requireError(ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await bug.explore(.broken, schedules: 200, seed: seed)
      }
      let isNamed = failure.problems.contains { problem in
        switch problem {
        case .nondeterminism, .uncontrolled: true
        default: false
        }
      }
      #expect(isNamed, "\(failure)")
    }
  }

  @Test("Without late timers, the bug of a late timer is not found")
  func punctual() async throws {
    try await exploreSchedules(200) { try await LateTimer.scenario(.broken, $0) }
  }

  @Test("A replay string fails again in another process, in the same order")
  func otherProcess() async throws {
    var (replays, orders): ([String], [[Int]]) = ([], [])
    for bug in Self.bugs {
      let failure = try await requireError(ExplorationFailure.self) { try await bug.explore(.broken) }
      replays.append(failure.replay)
      orders.append(failure.order)
    }
    await #expect(processExitsWith: .success) { [replays = replays as [String], orders = orders as [[Int]]] in
      for (index, bug) in Self.bugs.enumerated() {
        let failure = await expectError(ExplorationFailure.self, "\(bug)") {
          try await bug.explore(.broken, strategy: .replay(replays[index]))
        }
        #expect(failure?.order == orders[index], "\(bug)")
      }
    }
  }

  @Test("Each corrected version passes 1,000 schedules", arguments: bugs.indices, strategies)
  func fixed(bug: Int, strategy: ExplorationStrategy) async throws {
    let bug = Self.bugs[bug]
    let summary = try await bug.explore(.fixed, schedules: TestDepth.count(1_000), strategy: strategy)
    #expect(summary.distinctTraces > 1, "\(bug): \(summary)")
  }

  @Test("Each corrected version is deterministic", arguments: nondeterministic)
  func deterministic(bug: any PlantedBug.Type) async throws {
    try await bug.explore(.fixed, schedules: TestDepth.count(1_000, least: 200))
  }
}
