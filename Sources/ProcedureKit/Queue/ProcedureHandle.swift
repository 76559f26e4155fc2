/// A reference to a procedure that was added to a queue or produced by another procedure.
///
/// The procedure outlives its handle: releasing the handle does not cancel the procedure. Handles to the same run are equal.
public struct ProcedureHandle<Output: Sendable>: Sendable, Identifiable, ProcedureDependency, RunDependency {
  @usableFromInline let run: Run
  /// A function that derives the outcome of the handle from the outcome of the run; `nil` if the two are the same.
  private let derive: (@Sendable (RunOutcome) -> ProcedureOutcome<Output>)?

  @usableFromInline
  init(_ run: Run) {
    self.run = run
    derive = nil
  }

  private init(_ run: Run, derive: @escaping @Sendable (RunOutcome) -> ProcedureOutcome<Output>) {
    (self.run, self.derive) = (run, derive)
  }

  var dependencyRun: Run { run }

  /// The ID of the procedure's run.
  public var id: ProcedureID { run.id }

  /// The name of the procedure.
  public var name: String { run.name }

  /// The ID and the name of the procedure's run.
  public var identity: ProcedureIdentity { run.identity }

  /// The current state of the run.
  public var state: ProcedureState { run.state }

  /// The value of the procedure, available after the procedure finishes.
  ///
  /// A body releases its slot while it waits for the value. Cancelling the waiting task ends the wait immediately; the procedure continues.
  ///
  /// - Throws: The error that the body threw, or a ``ProcedureError`` from the library. If the procedure was cancelled, the error is the
  ///   reason for the cancellation, or `CancellationError` if there is no reason. If the waiting task is cancelled, the error is
  ///   `CancellationError`. If the procedure is itself waiting for the body that reads the value, the error is a ``ProcedureError`` of kind
  ///   ``ProcedureError/Kind/exclusionDeadlock``.
  @inlinable
  public var value: Output {
    get async throws {
      if !run.isFinished { try await waitForEnd() }
      // Most procedures return nothing. Casting `()` would take longer than the rest of this property.
      if Output.self == Void.self, hasOwnValue { return () as! Output }
      if let ownValue { return cast(ownValue) }
      return try finishedValue()
    }
  }

  /// Whether the run succeeded, and its value is the value of the handle. A handle can also transform the outcome into a different value.
  @usableFromInline var hasOwnValue: Bool { derive == nil && run.hasSucceeded }

  /// The run's value; `nil` if the run did not succeed, or if the handle transforms the outcome.
  @usableFromInline var ownValue: (any Sendable)? { derive == nil ? run.value : nil }

  /// Waits for the run to finish. Cancelling the waiting task ends the wait (C4).
  @usableFromInline
  func waitForEnd() async throws {
    switch await run.waitForEnd(endsOnCancellation: true) {
    case .ended: return
    case .cancelled: throw ProcedureContext.cancellationError
    case .refused(let error): throw error
    }
  }

  @usableFromInline
  func finishedValue() throws -> Output {
    try finishedOutcome.get(of: identity)
  }

  /// The outcome of the procedure, available after the procedure finishes. Cancelling the waiting task does not end the wait.
  ///
  /// If the procedure is itself waiting for the body that reads the outcome, the wait would never end. In that case, the body receives a
  /// failure with ``ProcedureError/Kind/exclusionDeadlock``, which is not the procedure's outcome.
  public var outcome: ProcedureOutcome<Output> {
    get async {
      // Cancelling the waiting task does not end this wait (C4).
      if case .refused(let error) = await run.waitForEnd(endsOnCancellation: false) { return .failed(error) }
      return finishedOutcome
    }
  }

  /// The value or the error of the procedure, available after the procedure finishes; compare `Task.result`.
  ///
  /// Cancelling the waiting task does not end the wait. A deadlock is reported as a failure, as for ``outcome``.
  public var result: Result<Output, any Error> {
    get async {
      let outcome = await outcome
      return Result { () throws in try outcome.get(of: identity) }
    }
  }

  var finishedOutcome: ProcedureOutcome<Output> {
    guard let outcome = run.outcome else {
      preconditionFailure("the outcome of \(identity) was read before the procedure finished")
    }
    run.setObserved()
    return derive?(outcome) ?? outcome.map { $0 as! Output }
  }

  /// The value that a dependent receives, without a deep copy (D2). Reading the value traps if the run did not succeed.
  @usableFromInline var successfulValue: Output {
    guard case .finished(let value) = finishedOutcome else {
      preconditionFailure("ProcedureHandle: the value of \(identity) was read, but the procedure did not succeed")
    }
    return value
  }

  /// The events of the run, starting with the first one, even for a late subscriber. Each access creates a new subscription.
  ///
  /// The stream ends after `didFinish`. It supports a single consumer. A slow subscriber neither delays a run nor misses an event. A body
  /// releases its slot while it waits for an event. Cancelling the task that iterates over the stream ends the stream. If a body waits for
  /// an event from a procedure that is itself waiting for the body, the two are deadlocked. If no other wait in the cycle can throw, the
  /// body is cancelled and fails with ``ProcedureError/Kind/exclusionDeadlock``.
  public var events: AsyncStream<ProcedureEvent> {
    run.setObserved()
    return run.events()
  }

  /// Returns a dependency that never fails: its value is the result of the procedure.
  public func catchingErrors() -> ProcedureHandle<Result<Output, any Error>> {
    let (identity, derive) = (identity, derive)
    return ProcedureHandle<Result<Output, any Error>>(run) { outcome in
      .finished(Result { () throws in try (derive?(outcome) ?? outcome.map { $0 as! Output }).get(of: identity) })
    }
  }

  /// Adds a dependency to a procedure that has not started: the procedure starts only after the dependency finishes successfully.
  ///
  /// ```swift
  /// let upload = queue.add(UploadAll())
  /// for photo in photos { upload.addDependency(queue.add(Resize(), input: photo)) }
  /// ```
  ///
  /// The dependency acts like a dependency passed to `add`: if it fails, is cancelled or is ignored, the procedure shares that outcome. The
  /// procedure releases the resources that it has claimed, and its state is ``ProcedureState/pending`` again until the dependency finishes.
  /// A step that is in progress (the evaluation of conditions, a delay, or a claim) is completed first. If the dependency completes a
  /// cycle, none of the procedures in the cycle can start, so the youngest dependent fails with ``ProcedureError/Kind/exclusionDeadlock``.
  ///
  /// - Parameter dependency: The other procedure, on any queue.
  /// - Returns: `false` if the body has started or the procedure has finished, in which case the call has no effect.
  @discardableResult
  public func addDependency(_ dependency: any ProcedureDependency) -> Bool { run.addDependency(dependency) }

  /// Cancels the procedure together with its children, nested runs and nodes.
  ///
  /// - Parameter reason: The error that ``value`` throws; `nil` to use `CancellationError`.
  public func cancel(_ reason: (any Error)? = nil) {
    run.cancel(reason)
  }

  /// Whether the handle is from ``catchingErrors()``, so that a dependent accepts any outcome (D1).
  var neverFails: Bool { derive != nil }
}

extension ProcedureHandle: Hashable {
  /// Returns whether both handles refer to the same run.
  public static func == (left: Self, right: Self) -> Bool { left.run === right.run }

  /// Hashes the ID of the run.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension ProcedureHandle: CustomStringConvertible {
  /// The name, the ID and the state.
  public var description: String { "\(identity), \(state)" }
}

/// A run on which another procedure can depend: a ``ProcedureHandle`` of any type. The dependent procedure starts after the run finishes.
///
/// The protocol allows one array to contain handles of different types. Only the library's own types should conform, because depending on a
/// value of any other type traps. To wait for something else, add a procedure that waits for it, and depend on that procedure.
public protocol ProcedureDependency: Sendable {
  /// The ID and the name of the run.
  var identity: ProcedureIdentity { get }
}

/// Returns a run's value, cast to the output type.
///
/// The parameter is generic because casting a value whose type is known takes half as long as casting an `any Sendable`.
@inlinable
func cast<Value: Sendable, Output>(_ value: Value) -> Output { value as! Output }
