/// What an exploration that found nothing wrong has looked at.
public struct ExplorationSummary: Hashable, Sendable, CustomStringConvertible {
  /// The seed of the exploration.
  public var seed: UInt64

  /// How jobs were chosen.
  public var strategy: ExplorationStrategy

  /// The number of schedules that ran.
  public var schedules = 0

  /// The number of different orders among them, as far as a 64-bit fingerprint tells.
  public var distinctTraces = 0

  /// The number of times that a job was chosen among several.
  public var decisions = 0

  /// The number of jobs that ran.
  public var steps = 0

  /// The most jobs that ran in one schedule.
  public var longestSchedule = 0

  /// In how many schedules each outcome occurred that the body counts with `ExplorationEnvironment.tally`.
  public var tallies: [String: Int] = [:]

  /// Whether every order there is has run, as only `ExplorationStrategy.exhaustive` can tell.
  public var isComplete = false

  /// Those of `outcomes` that have never been tallied, in order.
  func missing(of outcomes: Set<String>) -> [String] {
    outcomes.filter { tallies[$0] == nil }.sorted()
  }

  /// All of it in one line.
  public var description: String {
    "\(isComplete ? "all " : "")\(schedules.counting("schedule")), \(distinctTraces.counting("distinct trace")), "
      + "\(decisions.counting("decision")) in \(steps.counting("step"))"
      + " (seed \(seed), \(strategy))"
      + tallies.sorted { $0.key < $1.key }.map { ", \($0.key): \($0.value)" }.joined()
  }
}
