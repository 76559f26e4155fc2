/// The violation of a rule by a queue.
public struct ConformanceViolation: Error, Sendable, CustomStringConvertible {
  /// The rule.
  public let rule: ProcedureQueueConformance.Rule
  /// The expectation, in words.
  public let expectation: String
  /// The observation, in words.
  public let observation: String

  /// The rule with its statement, the expectation and the observation, on one line each.
  public var description: String {
    """
    rule \(rule.id) does not hold: \(rule.statement)
      expected: \(expectation)
      seen: \(observation)
    """
  }
}
