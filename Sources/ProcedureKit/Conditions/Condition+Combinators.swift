extension Condition {
  /// Satisfied when `condition` fails or is not satisfied; fails when `condition` is satisfied.
  public static prefix func ! (condition: Condition) -> Condition {
    Condition("not \(condition.name)") { prepares in
      guard await condition.judge(prepares: prepares).isSatisfied else { return .satisfied }
      return .failed(condition: "not \(condition.name)", error: ConditionError.satisfied(condition: condition.name))
    }
  }

  /// Satisfied when both are; see ``all(_:)``.
  public static func && (first: Condition, second: Condition) -> Condition {
    all([first, second], named: "(\(first.name) and \(second.name))")
  }

  /// Satisfied when one of both is; see ``any(_:)``.
  public static func || (first: Condition, second: Condition) -> Condition {
    any([first, second], named: "(\(first.name) or \(second.name))")
  }

  /// Satisfied when all are; fails with the first that fails; ignored otherwise, and if there are none.
  ///
  /// All are evaluated at once; the first failure cancels the others.
  public static func all(_ conditions: [Condition]) -> Condition {
    all(conditions, named: "all of (\(conditions.map(\.name).joined(separator: ", ")))")
  }

  private static func all(_ conditions: [Condition], named name: String) -> Condition {
    Condition(name) { prepares in
      guard !conditions.isEmpty else { return .ignored(by: name) }
      return await judge(conditions, prepares: prepares)
    }
  }

  /// Satisfied by the first that is; ignored if all are ignored, and if there are none; otherwise failed with all errors.
  ///
  /// All are evaluated at once; the first that is satisfied cancels the others.
  public static func any(_ conditions: [Condition]) -> Condition {
    any(conditions, named: "any of (\(conditions.map(\.name).joined(separator: ", ")))")
  }

  private static func any(_ conditions: [Condition], named name: String) -> Condition {
    Condition(name) { prepares in
      let (results, satisfied) = await Spawner.runAll(
        conditions.count, operation: { await conditions[$0].judge(prepares: prepares) }, until: \.isSatisfied)
      if satisfied != nil { return .satisfied }
      let errors = results.compactMap { result in
        if case .failed(_, let error) = result { error } else { nil }
      }
      return errors.isEmpty
        ? .ignored(by: name) : .failed(condition: name, error: ConditionError.noneSatisfied(errors: errors))
    }
  }

  /// The same condition without its `prepare` step: it only looks, and brings nothing about.
  public static func silent(_ condition: Condition) -> Condition {
    Condition(condition.name) { _ in await condition.judge(prepares: false) }
  }

  /// The same condition, but where it would fail the procedure is ignored instead.
  public static func ignored(_ condition: Condition) -> Condition {
    Condition(condition.name) { prepares in
      let verdict = await condition.judge(prepares: prepares)
      return verdict.isFailed ? .ignored(by: condition.name) : verdict
    }
  }
}
