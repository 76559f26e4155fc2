/// Outcomes of a race that were expected, and occurred in no schedule.
///
/// Either the race cannot end so, or the body does not let the two sides meet: let both `await` something before they do.
public struct MissingOutcomes: Error, Hashable, Sendable, CustomStringConvertible {
  /// What never occurred, in alphabetical order; never empty.
  public var outcomes: [String]

  /// What has been looked at, with the outcomes that did occur.
  public var summary: ExplorationSummary

  /// What never occurred, and what did.
  public var description: String {
    "never occurred: \(outcomes.joined(separator: ", ")) in \(summary)"
  }
}
