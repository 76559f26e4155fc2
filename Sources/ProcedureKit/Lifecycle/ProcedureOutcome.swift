/// How one run of a procedure ended.
public enum ProcedureOutcome<Output> {
  /// The body returned this value.
  case finished(Output)
  /// The body threw this error, or the framework decided so with a ``ProcedureError``.
  case failed(any Error)
  /// The run was cancelled, for this reason if one was given.
  case cancelled(reason: (any Error)?)
  /// A condition of this name, of the run itself or of something that it depends on, was not satisfied.
  case ignored(by: String)
}

extension ProcedureOutcome: Sendable where Output: Sendable {}

extension ProcedureOutcome: CustomStringConvertible {
  /// The outcome as people read it in a log: `finished(42)`, `failed: NotFound()`, `cancelled`, `ignored by "online"`.
  public var description: String {
    switch self {
    case .finished(let value): value is Void ? "finished" : "finished(\(Self.words(for: value)))"
    case .failed(let error): "failed: \(error)"
    case .cancelled(let reason): reason.map { "cancelled: \($0)" } ?? "cancelled"
    case .ignored(let condition): "ignored by \"\(condition)\""
    }
  }

  /// A value that is there as what it is, without the word `Optional`.
  private static func words(for value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return "\(value)" }
    return mirror.children.first.map { words(for: $0.value) } ?? "nil"
  }
}

extension ProcedureOutcome {
  /// The value, if the run finished with one.
  public var value: Output? {
    if case .finished(let value) = self { value } else { nil }
  }

  /// The same outcome with `transform` applied to its value.
  public func map<Other>(_ transform: (Output) -> Other) -> ProcedureOutcome<Other> {
    switch self {
    case .finished(let value): .finished(transform(value))
    case .failed(let error): .failed(error)
    case .cancelled(let reason): .cancelled(reason: reason)
    case .ignored(let condition): .ignored(by: condition)
    }
  }

  /// The same outcome without its value, as events and dependencies carry it.
  public var withoutValue: ProcedureOutcome<Void> {
    map { _ in }
  }

  /// The value, or the error that stands for every other outcome.
  ///
  /// - Parameter procedure: The run whose outcome this is, named by the error where the framework makes one.
  /// - Returns: The value.
  /// - Throws: What the body threw; the reason of a cancel, or `CancellationError` where none was given;
  ///   ``ProcedureError/ignored(procedure:by:)``.
  func get(of procedure: @autoclosure () -> ProcedureIdentity) throws -> Output {
    switch self {
    case .finished(let value): return value
    case .failed(let error): throw error
    case .cancelled(let reason): throw reason ?? CancellationError()
    case .ignored(let condition): throw ProcedureError.ignored(procedure: procedure(), by: condition)
    }
  }

  /// The outcome of a body that nobody had cancelled.
  init(_ result: Result<Output, any Error>) {
    switch result {
    case .success(let value): self = .finished(value)
    case .failure(let error): self.init(thrown: error)
    }
  }

  /// Whether the run was cancelled in time.
  var wasCancelled: Bool {
    if case .cancelled = self { true } else { false }
  }

  /// The outcome of a body that threw `error` although nobody had cancelled it.
  ///
  /// A body that lets ``ProcedureError/ignored(procedure:by:)`` through is ignored like what it ran.
  init(thrown error: any Error) {
    if let error = error as? ProcedureError, case .ignored(_, let condition) = error {
      self = .ignored(by: condition)
    } else {
      self = .failed(error)
    }
  }
}
