/// A rule that a queue does not keep to.
public struct ConformanceViolation: Error, Sendable, CustomStringConvertible {
  /// The rule.
  public let rule: ProcedureQueueConformance.Rule
  /// What the rule makes one expect, in words.
  public let expectation: String
  /// What was seen instead.
  public let observation: String

  /// The rule with its statement, what was expected and what was seen, a line each.
  public var description: String {
    """
    rule \(rule.id) does not hold: \(rule.statement)
      expected: \(expectation)
      seen: \(observation)
    """
  }
}
