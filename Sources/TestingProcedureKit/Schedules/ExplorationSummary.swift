/// The statistics of an exploration without failures.
public struct ExplorationSummary: Hashable, Sendable, CustomStringConvertible {
  /// The seed of the exploration.
  public var seed: UInt64

  /// The strategy of the exploration.
  public var strategy: ExplorationStrategy

  /// The number of schedules.
  public var schedules = 0

  /// The number of different orders, as far as a 64-bit fingerprint distinguishes orders.
  public var distinctTraces = 0

  /// The number of choices among several ready jobs.
  public var decisions = 0

  /// The number of executed jobs.
  public var steps = 0

  /// The largest number of jobs in one schedule.
  public var longestSchedule = 0

  /// The number of schedules in which each outcome of `ExplorationEnvironment.tally` occurred.
  public var tallies: [String: Int] = [:]

  /// Whether every possible order has run. Only `ExplorationStrategy.exhaustive` sets the property.
  public var isComplete = false

  /// Returns the `outcomes` without a tally, in order.
  func missing(of outcomes: Set<String>) -> [String] {
    outcomes.filter { tallies[$0] == nil }.sorted()
  }

  /// The statistics in one line.
  public var description: String {
    "\(isComplete ? "all " : "")\(schedules.counting("schedule")), \(distinctTraces.counting("distinct trace")), "
      + "\(decisions.counting("decision")) in \(steps.counting("step"))"
      + " (seed \(seed), \(strategy))"
      + tallies.sorted { $0.key < $1.key }.map { ", \($0.key): \($0.value)" }.joined()
  }
}
