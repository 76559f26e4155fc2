/// Runs `body` under many schedules, until each outcome of a race has occurred.
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
/// Use the function instead of `exploreSchedules` for tests that would prove nothing without the race. All `schedules`
/// run; if an outcome is then missing, up to ten times as many run. Cancelling the caller ends the exploration after
/// the current schedule.
///
/// - Parameters:
///   - outcomes: The required outcomes, by the names that `body` gives to `ExplorationEnvironment.tally`. The body may
///     count further outcomes.
///   - schedules: The number of schedules.
///   - seed: The source of all choices and random numbers. Equal seeds give equal explorations.
///   - strategy: The choice of the next job.
///   - preemptionLimit: The largest number of wakers that are overtaken in one schedule; see
///     `ScheduleExplorer.preemptionLimit`.
///   - body: The body to explore, called once for each schedule. Every call has to start from an equal state.
/// - Returns: The statistics.
/// - Throws: `ExplorationFailure` for the first failing schedule; `MissingOutcomes` if an outcome never occurred;
///   `CancellationError` if the caller is cancelled; a format error for a malformed replay string.
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
