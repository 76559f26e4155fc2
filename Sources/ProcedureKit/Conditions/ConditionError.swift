/// The error of a negated condition or of a group of alternatives.
public enum ConditionError: Error, Sendable, CustomStringConvertible {
  /// A negated condition was satisfied.
  case satisfied(condition: String)
  /// No alternative was satisfied, and at least one failed. `errors` has the errors of the failed alternatives, in
  /// order.
  case noneSatisfied(errors: [any Error])

  /// The error as a sentence, with the name of the condition.
  public var description: String {
    switch self {
    case .satisfied(let condition): "\(condition.quoted) is satisfied, and must not be"
    case .noneSatisfied(let errors):
      "no alternative is satisfied: \(errors.map { "\($0)" }.joined(separator: "; "))"
    }
  }
}
