/// Internal. What a condition came to, or all those of one level together.
enum ConditionVerdict: Sendable {
  case satisfied
  /// Not satisfied: the body is not executed, which is no failure.
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
