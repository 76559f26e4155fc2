/// Internal. The result of evaluating one condition, or all conditions of one level.
enum ConditionEvaluation: Sendable {
  case satisfied
  /// Not satisfied: the body is not executed, and the run does not fail.
  case ignored(by: String)
  /// Failed: the body is not executed, and the run fails.
  case failed(condition: String, error: any Error)

  var isSatisfied: Bool {
    if case .satisfied = self { true } else { false }
  }

  var isFailed: Bool {
    if case .failed = self { true } else { false }
  }
}
