/// The outcome of one run of a procedure.
@frozen
public enum ProcedureOutcome<Output> {
  /// The body returned this value.
  case finished(Output)
  /// The run failed with this error. The body, a hook or a child threw the error, or it is a ``ProcedureError`` from the library.
  case failed(any Error)
  /// The run was cancelled. The reason is `nil` if none was given.
  case cancelled(reason: (any Error)?)
  /// A condition with this name was not satisfied, or the modifier `debounced` or `throttled` superseded the run. The condition or the
  /// modifier belongs to the run, to one of its dependencies, or to a procedure that the body executed.
  case ignored(by: String)
}

extension ProcedureOutcome: Sendable where Output: Sendable {}

extension ProcedureOutcome: CustomStringConvertible {
  /// The outcome as it appears in logs: `finished(42)`, `failed: NotFound()`, `cancelled`, `ignored by "online"`.
  public var description: String {
    switch self {
    case .finished(let value): value is Void ? "finished" : "finished(\(Self.words(for: value)))"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let reason): reason.map { "cancelled: \($0)" } ?? "cancelled"
    case .ignored(let condition): "ignored by \(condition.quoted)"
    }
  }

  /// Returns the description of `value`, without the word `Optional`.
  private static func words(for value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return "\(value)" }
    return mirror.children.first.map { words(for: $0.value) } ?? "nil"
  }
}

extension ProcedureOutcome {
  /// The value of a run that finished; `nil` for every other outcome.
  public var value: Output? {
    if case .finished(let value) = self { value } else { nil }
  }

  /// Returns the outcome with `transform` applied to the value.
  public func map<Other>(_ transform: (Output) -> Other) -> ProcedureOutcome<Other> {
    switch self {
    case .finished(let value): .finished(transform(value))
    case .failed(let error): .failed(error)
    case .cancelled(let reason): .cancelled(reason: reason)
    case .ignored(let condition): .ignored(by: condition)
    }
  }

  /// The outcome without the value, for events and dependencies.
  public var withoutValue: ProcedureOutcome<Void> {
    map { _ in }
  }

  /// Returns the value of a finished run; for any other outcome, throws the corresponding error.
  ///
  /// - Parameter procedure: The identity of the run, for the error that is thrown if the run was ignored.
  /// - Returns: The value.
  /// - Throws: For a failed run, the error with which it failed. For a cancelled run, the reason for the cancellation, or
  ///   `CancellationError` if there is no reason. For an ignored run, ``ProcedureError/Kind/ignored``.
  func get(of procedure: @autoclosure () -> ProcedureIdentity) throws -> Output {
    switch self {
    case .finished(let value): return value
    case .failed(let error): throw error
    case .cancelled(let reason): throw reason ?? CancellationError()
    case .ignored(let condition): throw ProcedureError.ignored(procedure: procedure(), by: condition)
    }
  }
}
