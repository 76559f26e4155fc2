/// Runs `body` under many schedules, until each outcome of a race has been seen; throws if one goes wrong or never occurs.
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
/// It is `exploreSchedules` for tests that would prove nothing if the race never took place. All `schedules` are run;
/// when an outcome has not occurred by then, up to ten times as many. Cancelling the caller ends the exploration after the
/// schedule that is running.
///
/// - Parameters:
///   - outcomes: What has to occur, each in some schedule: the names that the body gives to
///     `ExplorationEnvironment.tally`, which may count others, too.
///   - schedules: The number of schedules.
///   - seed: Decides all choices and random numbers: the same seed gives the same exploration.
///   - strategy: How the next job is chosen.
///   - body: What to explore. It runs once for each schedule and must start from the same state each time.
/// - Returns: What has been looked at.
/// - Throws: `ExplorationFailure` for the first schedule that fails; `MissingOutcomes` if an outcome never occurred;
///   `CancellationError` if the caller is cancelled; an error that says so if the strategy's replay string is malformed.
@concurrent @discardableResult
public func exploreRace(
  _ outcomes: String...,
  schedules: Int = 2_000,
  seed: UInt64 = 0,
  strategy: ExplorationStrategy = .mixed(),
  body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
) async throws -> ExplorationSummary {
  var explorer = ScheduleExplorer(schedules: schedules, seed: seed, strategy: strategy)
  explorer.expectedOutcomes = Set(outcomes)
  return try await explorer.explore(body)
}
