extension Condition {
  /// Returns a condition that is satisfied when `condition` fails or is not satisfied, and fails when `condition` is satisfied.
  public static prefix func ! (condition: Condition) -> Condition {
    let name = combined("not \(condition.name)")
    return condition.mapping(to: name) { evaluation in
      // A satisfied condition becomes a failure (K3).
      guard evaluation.isSatisfied else { return .satisfied }
      return .failed(condition: name, error: ConditionError.satisfied(condition: condition.name))
    }
  }

  /// Returns a condition that is satisfied when both conditions are satisfied; see ``all(_:)``.
  public static func && (first: Condition, second: Condition) -> Condition {
    all([first, second], named: combined("(\(first.name) and \(second.name))"))
  }

  /// Returns a condition that is satisfied when at least one condition is satisfied; see ``any(_:)``.
  public static func || (first: Condition, second: Condition) -> Condition {
    any([first, second], named: combined("(\(first.name) or \(second.name))"))
  }

  /// Returns a condition that is satisfied when all `conditions` are satisfied.
  ///
  /// All conditions are evaluated concurrently. The first failure determines the result and cancels the other evaluations. If no condition
  /// fails but one is not satisfied, the procedure is ignored. If the array is empty, the condition is satisfied, just as `allSatisfy`
  /// returns `true` for an empty sequence.
  public static func all(_ conditions: [Condition]) -> Condition {
    all(conditions, named: combined("all of (\(conditions.map(\.name).joined(separator: ", ")))"))
  }

  private static func all(_ conditions: [Condition], named name: String) -> Condition {
    Condition(name) { prepares, decide in await evaluateAll(conditions, prepares: prepares, decide: decide) }
  }

  /// Returns a condition that is satisfied when at least one of `conditions` is satisfied.
  ///
  /// All conditions are evaluated concurrently. The first satisfied condition determines the result and cancels the other evaluations. If
  /// no condition is satisfied, the combined condition fails with the errors of all conditions that failed. If none of them failed, or if
  /// the array is empty, the procedure is ignored.
  public static func any(_ conditions: [Condition]) -> Condition {
    any(conditions, named: combined("any of (\(conditions.map(\.name).joined(separator: ", ")))"))
  }

  /// Returns a condition that is satisfied as soon as one of `conditions` is satisfied (K3).
  private static func any(_ conditions: [Condition], named name: String) -> Condition {
    Condition(name) { prepares, decide in
      await evaluateEach(conditions, prepares: prepares, until: \.isSatisfied) { evaluations in
        if evaluations.contains(where: \.isSatisfied) { return decide(.satisfied) }
        let errors = evaluations.compactMap { evaluation in
          if case .failed(_, let error) = evaluation { error } else { nil }
        }
        decide(
          errors.isEmpty
            ? .ignored(by: name) : .failed(condition: name, error: ConditionError.noneSatisfied(errors: errors)))
      }
    }
  }

  /// Returns the condition without its `prepare` step. Evaluating the returned condition tests the state but does not prompt the user.
  public func silenced() -> Condition {
    // The `prepare` step is omitted, even if a combination that contains this condition would include it (K2).
    Condition(name) { _, decide in await evaluation(false, decide) }
  }

  /// Returns a condition that treats failures as "not satisfied", so the procedure is ignored instead of failing.
  public func treatingErrorsAsUnsatisfied() -> Condition {
    mapping(to: name) { [name] in $0.isFailed ? .ignored(by: name) : $0 }
  }

  private func mapping(
    to name: String, _ transform: @escaping @Sendable (ConditionEvaluation) -> ConditionEvaluation
  ) -> Condition {
    Condition(name) { prepares, decide in
      await evaluation(prepares) { evaluation in
        // The trampoline prevents a condition that is nested in thousands of others from overflowing the stack.
        Trampoline.call { decide(transform(evaluation)) }
      }
    }
  }

  /// Shortens the name of a combined condition. Without a limit, every level of a deeply nested condition would store the names of all
  /// conditions inside it.
  private static func combined(_ name: String) -> String {
    name.utf8.count <= 1_000 ? name : name.shortened(to: 1_000)
  }
}

/// An error thrown by a negated condition or a group of alternative conditions.
@nonexhaustive
public enum ConditionError: Error, Sendable, CustomStringConvertible {
  /// A negated condition was satisfied.
  case satisfied(condition: String)
  /// No alternative was satisfied, and at least one failed. `errors` contains the errors of the failed alternatives, in order.
  case noneSatisfied(errors: [any Error])

  /// A sentence that describes the error.
  public var description: String {
    switch self {
    case .satisfied(let condition): "the negated condition \(condition.quoted) was satisfied"
    case .noneSatisfied(let errors):
      "no alternative was satisfied: \(errors.map { "\($0)" }.joined(separator: "; "))"
    }
  }
}
