/// Runs `body` under `count` different schedules and throws an error with a replay string for the first one that fails.
///
/// ```swift
/// try await exploreSchedules(1_000) { env in
///   let account = Account(balance: 100)
///   async let first = account.withdraw(70)
///   async let second = account.withdraw(70)
///   _ = await (first, second)
///   env.check(await account.balance >= 0)
/// }
/// ```
///
/// A schedule fails if the body throws, if an expectation (`env.check`, `env.eventually`) is not met, if the tasks deadlock or acquire
/// explored locks in a cycle, if the schedule exceeds the step limit, if a step hangs, or if work escapes the exploration's control. The
/// exploration also fails if the same choices lead to different runs. `ScheduleExplorer` describes which work is controlled, and has
/// further settings. Cancelling the caller ends the exploration after the current schedule.
///
/// - Parameters:
///   - count: The number of schedules.
///   - seed: The seed for all choices and random numbers. Explorations with the same seed are identical.
///   - strategy: The strategy for choosing the next job.
///   - preemptionLimit: The maximum number of preemptions in one schedule; see `ScheduleExplorer.preemptionLimit`.
///   - body: The body to explore. It is called for each schedule, and again for the schedules that are repeated. Every call must start from
///     the same state.
/// - Returns: The statistics.
/// - Throws: `ExplorationFailure` for the first failing schedule; `ReplayDiverged` if a replay runs the tasks in a different order from the
///   failing schedule; `CancellationError` if the caller is cancelled; a format error if the replay string is malformed; another error if
///   the caller belongs to an exploration.
@concurrent @discardableResult
public func exploreSchedules(
  _ count: Int = 1_000,
  seed: UInt64 = 0,
  strategy: ExplorationStrategy = .mixed(),
  preemptionLimit: Int = .max,
  _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
) async throws -> ExplorationSummary {
  var explorer = ScheduleExplorer(schedules: count, seed: seed, strategy: strategy)
  explorer.preemptionLimit = preemptionLimit
  return try await explorer.explore(body)
}

/// Runs `body` under many schedules until each outcome of a race has occurred.
///
/// ```swift
/// try await exploreRace("finished", "cancelled") { env in
///   let queue = env.makeQueue()
///   let handle = queue.add(ProcedureTask { await Task.yield() })
///   async let cancel: Void = handle.cancel()
///   env.tally(await handle.outcome.isCancelled ? "cancelled" : "finished")
///   await cancel
///   await queue.shutDown()
/// }
/// ```
///
/// Use this function instead of `exploreSchedules` for a test that proves nothing unless the race occurs. The exploration always runs at
/// least `schedules` schedules. If an outcome is still missing after that, the exploration runs more schedules, but no more than ten times
/// `schedules` in total. Cancelling the caller ends the exploration after the current schedule.
///
/// - Parameters:
///   - outcomes: The names of the required outcomes, which `body` passes to `ExplorationEnvironment.tally`. The body can also count other
///     outcomes.
///   - schedules: The minimum number of schedules.
///   - seed: The seed for all choices and random numbers. Explorations with the same seed are identical.
///   - strategy: The strategy for choosing the next job.
///   - preemptionLimit: The maximum number of preemptions in one schedule; see `ScheduleExplorer.preemptionLimit`.
///   - body: The body to explore. It is called for each schedule, and again for the schedules that are repeated. Every call must start from
///     the same state.
/// - Returns: The statistics.
/// - Throws: `ExplorationFailure` for the first failing schedule; `MissingOutcomes` if an outcome never occurred, except in a replay;
///   `ReplayDiverged` if a replay runs the tasks in a different order from the failing schedule; `CancellationError` if the caller is
///   cancelled; a format error if the replay string is malformed; another error if the caller belongs to an exploration.
@concurrent @discardableResult
public func exploreRace(
  _ outcomes: String...,
  schedules: Int = 1_000,
  seed: UInt64 = 0,
  strategy: ExplorationStrategy = .mixed(),
  preemptionLimit: Int = .max,
  body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
) async throws -> ExplorationSummary {
  var explorer = ScheduleExplorer(schedules: schedules, seed: seed, strategy: strategy)
  explorer.preemptionLimit = preemptionLimit
  explorer.expectedOutcomes = Set(outcomes)
  return try await explorer.explore(body)
}

/// The error that is thrown when a required outcome of a race has not occurred in any schedule.
///
/// Either an outcome is impossible or too rare for the number of schedules, or the two sides of the race never overlap. To make an overlap
/// possible, have both sides `await` something before the race.
public struct MissingOutcomes: Error, Hashable, Sendable, CustomStringConvertible {
  /// The missing outcomes in alphabetical order. The array is never empty.
  public var outcomes: [String]

  /// The statistics of the exploration, with the outcomes that occurred.
  public var summary: ExplorationSummary

  /// The missing outcomes and the statistics.
  public var description: String {
    (outcomes.count == 1 ? "this required outcome" : "these required outcomes")
      + " never occurred: \(outcomes.map(\.quoted).sentenceList) (in \(summary))"
  }
}
