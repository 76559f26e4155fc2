extension ProcedureOutcome {
  /// Whether the body returned a value.
  public var isFinished: Bool {
    if case .finished = self { true } else { false }
  }

  /// Whether the run failed.
  public var isFailed: Bool {
    if case .failed = self { true } else { false }
  }

  /// Whether the run was cancelled.
  public var isCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }

  /// Whether a condition was not satisfied.
  public var isIgnored: Bool {
    if case .ignored = self { true } else { false }
  }

  /// What the run failed with, if it failed.
  public var error: (any Error)? {
    if case .failed(let error) = self { error } else { nil }
  }

  /// What the run failed with, if it failed with an error of that type.
  public func error<Failure: Error>(as type: Failure.Type) -> Failure? {
    error as? Failure
  }

  /// What the framework decided, if it failed the run or gave the reason of its cancel, as a timeout does.
  public var procedureError: ProcedureError? {
    error(as: ProcedureError.self) ?? cancellationReason(as: ProcedureError.self)
  }

  /// Why the run was cancelled, if it was and a reason was given.
  public var cancellationReason: (any Error)? {
    if case .cancelled(let reason) = self { reason } else { nil }
  }

  /// Why the run was cancelled, if it was and the reason is of that type.
  public func cancellationReason<Reason: Error>(as type: Reason.Type) -> Reason? {
    cancellationReason as? Reason
  }

  /// The name of the condition that was not satisfied, if the run was ignored.
  public var ignoringCondition: String? {
    if case .ignored(let condition) = self { condition } else { nil }
  }
}

extension ProcedureOutcome where Output: Equatable {
  /// Whether the body returned `value`.
  public func isFinished(_ value: Output) -> Bool {
    self.value == value
  }
}
