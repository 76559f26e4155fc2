/// The required outcomes of a race that occurred in no schedule.
///
/// Either the outcome is impossible, or the two sides of the race never meet: both sides should `await` before the
/// race.
public struct MissingOutcomes: Error, Hashable, Sendable, CustomStringConvertible {
  /// The missing outcomes in alphabetical order; never empty.
  public var outcomes: [String]

  /// The statistics of the exploration, with the outcomes that occurred.
  public var summary: ExplorationSummary

  /// The missing outcomes and the statistics.
  public var description: String {
    "never occurred: \(outcomes.joined(separator: ", ")) in \(summary)"
  }
}
