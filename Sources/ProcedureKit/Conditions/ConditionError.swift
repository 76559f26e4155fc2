/// Why a combination of conditions failed although none of them did by itself alone.
public enum ConditionError: Error, Sendable, CustomStringConvertible {
  /// A negated condition was satisfied.
  case satisfied(condition: String)
  /// None of several alternatives was satisfied, and at least one failed: the errors of those, in order.
  case noneSatisfied(errors: [any Error])

  /// What happened, and to which condition.
  public var description: String {
    switch self {
    case .satisfied(let condition): "\"\(condition)\" is satisfied, and must not be"
    case .noneSatisfied(let errors):
      "no alternative is satisfied: \(errors.map { "\($0)" }.joined(separator: "; "))"
    }
  }
}
