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

  /// Whether the run was ignored because a condition was not satisfied.
  public var isIgnored: Bool {
    if case .ignored = self { true } else { false }
  }

  /// The error of a failed run; `nil` for every other outcome.
  public var error: (any Error)? {
    if case .failed(let error) = self { error } else { nil }
  }

  /// Returns the error of a failed run if the error has the given type; otherwise `nil`.
  public func error<Failure: Error>(as type: Failure.Type) -> Failure? {
    error as? Failure
  }

  /// The ``ProcedureError`` that made a run fail, or that was the reason for its cancellation; otherwise `nil`.
  public var procedureError: ProcedureError? {
    error(as: ProcedureError.self) ?? cancellationReason(as: ProcedureError.self)
  }

  /// The reason the run was cancelled; `nil` if there is no reason or the run was not cancelled.
  public var cancellationReason: (any Error)? {
    if case .cancelled(let reason) = self { reason } else { nil }
  }

  /// Returns the reason the run was cancelled if the reason has the given type; otherwise `nil`.
  public func cancellationReason<Reason: Error>(as type: Reason.Type) -> Reason? {
    cancellationReason as? Reason
  }

  /// The name of the condition that caused the run to be ignored; `nil` for every other outcome.
  public var ignoringCondition: String? {
    if case .ignored(let condition) = self { condition } else { nil }
  }
}

extension ProcedureOutcome where Output: Equatable {
  /// Returns whether the body returned `value`.
  public func isFinished(_ value: Output) -> Bool {
    self.value == value
  }
}
