/// The outcome of a run.
///
/// `ProcedureOutcome<any Sendable>` would be equivalent, but its layout is known only at run time, so each copy would call into the
/// runtime. The same is true of an enumeration that contains the value.
struct RunOutcome: Sendable {
  /// The outcome of a run that ended without producing a value. It is stored indirectly, so that a run needs only one word for it.
  indirect enum Failure: Sendable {
    case failed(any Error)
    case cancelled(reason: (any Error)?)
    case ignored(by: String)
  }

  /// The reason the run has no value; `nil` if the run succeeded.
  let failure: Failure?
  /// The value of a run that succeeded; `()` for every other run.
  let storedValue: any Sendable

  static func finished(_ value: any Sendable) -> RunOutcome { RunOutcome(failure: nil, storedValue: value) }
  static func failed(_ error: any Error) -> RunOutcome { RunOutcome(.failed(error)) }

  init(failure: Failure?, storedValue: any Sendable) { (self.failure, self.storedValue) = (failure, storedValue) }

  init(_ failure: Failure) { self.init(failure: failure, storedValue: ()) }

  /// Creates the outcome of a run that was not cancelled, from the result of its body.
  init(_ result: Result<any Sendable, any Error>) {
    switch result {
    case .success(let value): self = .finished(value)
    case .failure(let error): self.init(thrown: error)
    }
  }

  /// Creates the outcome of a run that was not cancelled and whose body threw an error.
  ///
  /// If the error is of kind ``ProcedureError/Kind/ignored``, the run is ignored as well.
  init(thrown error: any Error) {
    if let error = error as? ProcedureError, error.kind == .ignored, let condition = error.condition {
      self.init(.ignored(by: condition))
    } else {
      self.init(.failed(error))
    }
  }

  /// The value of a run that succeeded.
  var value: (any Sendable)? { failure == nil ? storedValue : nil }

  /// Whether the run was cancelled before its outcome was decided.
  var wasCancelled: Bool {
    if case .cancelled? = failure { true } else { false }
  }

  /// The outcome without the value, for events and dependencies.
  var withoutValue: ProcedureOutcome<Void> { map { _ in } }

  /// Returns the outcome with `transform` applied to the value.
  func map<Output>(_ transform: (any Sendable) -> Output) -> ProcedureOutcome<Output> {
    switch failure {
    case nil: .finished(transform(storedValue))
    case .failed(let error): .failed(error)
    case .cancelled(let reason): .cancelled(reason: reason)
    case .ignored(let condition): .ignored(by: condition)
    }
  }
}
