/// A schedule in which something went wrong, and how to run it again.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
  /// The seed of the exploration.
  public var seed: UInt64

  /// The number of the schedule that failed, from `0`.
  public var schedule: Int

  /// How jobs were chosen.
  public var strategy: ExplorationStrategy

  /// What went wrong; never empty. In the simplest schedule found, where the failure could be made simpler.
  public var problems: [ExplorationProblem]

  /// Runs the failing schedule again, as in `exploreSchedules(strategy: .replay("pk1:…")) { … }`.
  public var replay: String

  /// The strand that ran at each step of the failing schedule.
  ///
  /// A strand is what runs one after the other: a task, mostly. Strands are numbered in the order in which they first
  /// got ready; the body is `0`. An actor that begins to serve its callers goes on with the strand of the first of
  /// them.
  public var order: [Int]

  /// What the body wrote down with `ExplorationEnvironment.note`.
  public var notes: [String]

  /// The number of choices other than the first ready job, in the schedule as it was found and as it is reported.
  public var deviations: (found: Int, reported: Int)

  /// What the body threw, if it did.
  public var thrownError: (any Error)? {
    problems.lazy.compactMap { if case .thrown(let error) = $0 { error } else { nil } }.first
  }

  /// The deadlock, if the schedule ended in one.
  public var deadlock: Deadlock? {
    problems.lazy.compactMap { if case .deadlock(let deadlock) = $0 { deadlock } else { nil } }.first
  }

  /// A report for people: what went wrong, how to see it again, and what happened before.
  public var description: String {
    var lines = ["schedule \(schedule) failed (seed \(seed), strategy \(strategy))"]
    lines += problems.map { "  \($0)" }
    lines.append("  replay: strategy: .replay(\"\(replay)\")")
    lines.append(
      "  \(deviations.reported.counting("choice")) away from first come, first served"
        + (deviations.reported < deviations.found ? " (\(deviations.found) when found)" : ""))
    lines.append("  order of strands (\(order.count.counting("step"))): \(Self.abridged(order))")
    lines += notes.map { "  note: \($0)" }
    return lines.joined(separator: "\n")
  }

  private static func abridged(_ order: [Int]) -> String {
    let shown = order.suffix(200).map(String.init).joined(separator: " ")
    return order.count > 200 ? "… \(shown)" : shown
  }
}
