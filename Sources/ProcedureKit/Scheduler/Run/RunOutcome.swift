/// The outcome of a run, with the value stored separately.
///
/// `ProcedureOutcome<any Sendable>` would be equivalent, but its layout is known only at run time, so each copy would go through the
/// runtime.
struct RunOutcome: Sendable {
  let withoutValue: ProcedureOutcome<Void>
  /// The value of a run that has succeeded.
  let value: (any Sendable)?

  static func finished(_ value: any Sendable) -> RunOutcome { RunOutcome(withoutValue: .finished(()), value: value) }
  static func failed(_ error: any Error) -> RunOutcome { RunOutcome(withoutValue: .failed(error), value: nil) }
  static func cancelled(reason: (any Error)?) -> RunOutcome {
    RunOutcome(withoutValue: .cancelled(reason: reason), value: nil)
  }
  static func ignored(by condition: String) -> RunOutcome {
    RunOutcome(withoutValue: .ignored(by: condition), value: nil)
  }

  private init(withoutValue: ProcedureOutcome<Void>, value: (any Sendable)?) {
    (self.withoutValue, self.value) = (withoutValue, value)
  }

  /// Creates the outcome of a body whose run was not cancelled.
  init(_ result: Result<any Sendable, any Error>) {
    switch result {
    case .success(let value): self = .finished(value)
    case .failure(let error): self.init(thrown: error)
    }
  }

  /// Creates the outcome of a body that threw an error and whose run was not cancelled.
  init(thrown error: any Error) { self.init(withoutValue: ProcedureOutcome(thrown: error), value: nil) }

  /// Whether the run was cancelled before its outcome was decided.
  var wasCancelled: Bool { withoutValue.wasCancelled }

  /// Returns the outcome with `transform` applied to the value.
  func map<Output>(_ transform: (any Sendable) -> Output) -> ProcedureOutcome<Output> {
    withoutValue.map { _ in
      guard let value else { preconditionFailure("RunOutcome: a run has succeeded without a value") }
      return transform(value)
    }
  }

  /// Returns the value or throws the error for every other outcome.
  func get(of procedure: @autoclosure () -> ProcedureIdentity) throws -> any Sendable {
    try map { $0 }.get(of: procedure())
  }
}
