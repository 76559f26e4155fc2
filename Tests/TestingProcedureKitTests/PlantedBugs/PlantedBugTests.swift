import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.atDepth)) struct PlantedBugTests {
  /// A planted bug, and the numbers of schedules within which it is found with each of the seeds from 0 to 4.
  private struct Row: Sendable {
    let bug: any PlantedBug.Type
    /// The number of schedules for the default strategy.
    let byDefault: Int
    /// The number of schedules for any of the strategies.
    let byAny: Int
    /// The description of the bug in the guide.
    let description: String
  }

  private static let rows = [
    Row(
      bug: LostWakeUp.self, byDefault: 10, byAny: 20,
      description:
        "A reader checks a mailbox in one visit to an actor, suspends in another, and misses an item that arrives in between."
    ),
    Row(
      bug: DoubleResume.self, byDefault: 10, byAny: 10,
      description: "A result and a timeout both see that a continuation is waiting, and both resume it."),
    Row(
      bug: ReleaseByNonOwner.self, byDefault: 50, byAny: 400,
      description: "A cancelled waiter releases a lock that another task holds."),
    Row(
      bug: CheckThenAct.self, byDefault: 10, byAny: 10,
      description: "A pool checks for a free slot in one visit to an actor and takes the slot in another."),
    Row(
      bug: FinishBeforeValue.self, byDefault: 10, byAny: 10,
      description: "A task is marked as finished before its value is stored."),
    Row(
      bug: NotifyBeforeChange.self, byDefault: 10, byAny: 10,
      description: "A store notifies its observers before its state changes."),
    Row(
      bug: LateTimer.self, byDefault: 10, byAny: 10,
      description: "A watchdog presumes that a slow worker is dead, and the same work is completed twice."),
    Row(
      bug: StaleAnswer.self, byDefault: 10, byAny: 10,
      description: "A search field shows the response that arrives last, not the response to the last query."),
    Row(
      bug: OppositeLocks.self, byDefault: 10, byAny: 10,
      description: "Two transfers lock the same two accounts in opposite orders."),
    Row(
      bug: LostUpdate.self, byDefault: 10, byAny: 20,
      description: "A counter is read and written in two atomic operations."),
    Row(
      bug: DoubleCheckedInitialization.self, byDefault: 50, byAny: 100,
      description: "The flag of a lazily initialized value is set before the value."),
    Row(
      bug: CheckOutsideLock.self, byDefault: 20, byAny: 100,
      description: "An inventory is checked and changed under separate locks, and the last item is sold twice."),
    Row(
      bug: LateListener.self, byDefault: 50, byAny: 100,
      description: "A task checks a promise and registers a listener under separate locks, and is never notified."),
  ]

  private static let bugs = rows.map(\.bug)

  /// Bodies in which the same choices lead to different runs.
  private static let nondeterministic: [any PlantedBug.Type] = [
    RandomNumbers.self, TimeOfDay.self, OrderOfASet.self, OutlivingState.self, ForgottenDispatch.self,
  ]

  private static let strategies: [ExplorationStrategy] = [
    .mixed(), .random, .priorities(), .partialOrder, .uniform, .coverageGuided,
  ]

  @Test("The guide has a table of the planted bugs, with the numbers of schedules that these tests permit")
  func table() throws {
    let lines = try GuidePage.lines(of: "ExploringSchedules.md")
    let start = try #require(lines.firstIndex { $0.hasPrefix("| bug |") })
    let table = lines[(start + 2)...].prefix { $0.hasPrefix("|") }
    #expect(Array(table) == Self.rows.map { "| \($0.description) | \($0.byDefault) | \($0.byAny) |" })
  }

  @Test(
    "Each planted bug is found within the number of schedules that the guide states, and its replay fails again",
    arguments: rows.indices, strategies)
  func found(row: Int, strategy: ExplorationStrategy) async throws {
    let (row, bug) = (Self.rows[row], Self.rows[row].bug)
    let schedules = strategy == .mixed() ? row.byDefault : row.byAny
    for seed in 0..<UInt64(min(5, TestDepth.count(5, least: 3))) {
      let failure = try await requireError(ExplorationFailure.self, "\(bug) with seed \(seed)") {
        try await bug.explore(.broken, schedules: schedules, seed: seed, strategy: strategy)
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

  @Test("Coverage finds a bug in one of many orders of single events, for each seed", arguments: 0..<5 as Range<UInt64>)
  func rareOrder(seed: UInt64) async throws {
    let isDeep = TestDepth.current == .deep
    let (rare, schedules) = isDeep ? ([3, 6, 0, 5, 2, 4, 1], 10_000) : ([3, 0, 2, 4, 1], 500)
    _ = try await requireError(ExplorationFailure.self, "seed \(seed)") {
      try await exploreSchedules(schedules, seed: seed, strategy: .coverageGuided) { env in
        let order = Locked<[Int]>([])
        let tasks = rare.indices.map { number in
          Task(executorPreference: env.executor) { order { $0.append(number) } }
        }
        for task in tasks { await task.value }
        env.check(order.value != rare)
      }
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
