/// Runs `body` under `count` different schedules; throws with a replay for the first in which something goes wrong.
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
/// A schedule fails if the body throws, if `env.check` finds something wrong, if nothing can go on before the body has
/// finished (a deadlock), if it does not come to an end, and if work escapes from the exploration's control. What is
/// controlled and what is not is described at `ScheduleExplorer`, which also has more to adjust. Cancelling the caller
/// ends the exploration after the schedule that is running.
///
/// - Parameters:
///   - count: The number of schedules.
///   - seed: Decides all choices and random numbers: the same seed gives the same exploration.
///   - strategy: How the next job is chosen.
///   - body: What to explore. It runs once for each schedule and must start from the same state each time.
/// - Returns: What has been looked at.
/// - Throws: `ExplorationFailure` for the first schedule that fails; `CancellationError` if the caller is cancelled; an
///   error that says so if the strategy's replay string is malformed.
@concurrent @discardableResult
public func exploreSchedules(
  _ count: Int = 1_000,
  seed: UInt64 = 0,
  strategy: ExplorationStrategy = .random,
  _ body: @escaping @Sendable (ExplorationEnvironment) async throws -> Void
) async throws -> ExplorationSummary {
  try await ScheduleExplorer(schedules: count, seed: seed, strategy: strategy).explore(body)
}
