/// What `add` returns: the run that was added, to be watched, awaited, depended on and cancelled.
///
/// A value, like a `Task`: its copies, and all that are equal to it, stand for the same run. Dropping a handle changes
/// nothing: the procedure runs all the same.
public struct ProcedureHandle<Output: Sendable>: Sendable, Identifiable, ProcedureDependency, RunDependency {
  /// Where the outcome comes from, once the run has finished.
  @usableFromInline
  enum Source: Sendable {
    /// Invariant: the body of the run makes values of the handle's type.
    case run(DetachedRun)
    /// Made from that of a run of another type; never a failure.
    case derived(Derivation)
  }

  @usableFromInline
  final class Derivation: Sendable {
    @usableFromInline let run: DetachedRun
    let makeOutcome: @Sendable () -> ProcedureOutcome<Output>

    init(_ run: DetachedRun, _ makeOutcome: @escaping @Sendable () -> ProcedureOutcome<Output>) {
      (self.run, self.makeOutcome) = (run, makeOutcome)
    }
  }

  @usableFromInline let source: Source

  @usableFromInline
  init(_ run: DetachedRun) {
    source = .run(run)
  }

  private init(_ run: DetachedRun, outcome: @escaping @Sendable () -> ProcedureOutcome<Output>) {
    source = .derived(Derivation(run, outcome))
  }

  @inlinable var run: DetachedRun {
    switch source {
    case .run(let run): run
    case .derived(let derivation): derivation.run
    }
  }

  var dependencyRun: DetachedRun { run }

  /// Which run this is.
  public var id: ProcedureID { run.id }

  /// The procedure's name.
  public var name: String { run.name }

  /// Which run this is, and of which procedure.
  public var identity: ProcedureIdentity { run.identity }

  /// Where the run stands at this moment.
  public var state: ProcedureState {
    run.isFinished ? .finished : run.core.state(of: run)
  }

  /// The value, as soon as the run has finished.
  ///
  /// Cancelling the caller neither cancels the procedure nor ends the wait, unless the body around has produced it: then it is a
  /// part of what is cancelled. Inside a body, waiting lends the body's slot to its queue. A body whose task awaits its own value
  /// traps.
  ///
  /// - Throws: What the body threw, as it is. For a cancelled run the reason of the cancel, or `CancellationError` if
  ///   none was given. ``ProcedureError`` for what the framework decided.
  @inlinable
  public var value: Output {
    get async throws {
      // What has come already is read without counting a reference to the run.
      if let value = readyValue { return value.unboxed() }
      await run.waitUntilFinished()
      return try finishedValue()
    }
  }

  /// The outcome, as soon as the run has finished.
  ///
  /// Cancelling the caller neither cancels the procedure nor ends the wait, unless the body around has produced it: then it is a
  /// part of what is cancelled. Inside a body, waiting lends the body's slot to its queue. A body whose task awaits its own outcome
  /// traps.
  public var outcome: ProcedureOutcome<Output> {
    get async {
      await run.waitUntilFinished()
      return finishedOutcome
    }
  }

  /// The outcome of a run that is known to have finished.
  var finishedOutcome: ProcedureOutcome<Output> {
    switch source {
    case .run(let run): run.outcome.map { $0.unboxed() }
    case .derived(let derivation): derivation.makeOutcome()
    }
  }

  /// The value of a run of this type, if it has finished successfully.
  @inlinable var readyValue: BoxedValue? {
    guard case .run(let run) = source, run.isFinished else { return nil }
    return run.value
  }

  /// The value of a run that is known to have finished.
  ///
  /// - Throws: What ``value`` throws.
  @inlinable
  func finishedValue() throws -> Output {
    guard let value = readyValue else { return try anyFinishedValue() }
    return value.unboxed()
  }

  @usableFromInline
  func anyFinishedValue() throws -> Output {
    try finishedOutcome.get(of: identity)
  }

  /// The value of a run that is known to have finished successfully.
  @usableFromInline var successfulValue: Output {
    guard case .finished(let value) = finishedOutcome else {
      preconditionFailure("ProcedureHandle: \(identity) was read as a dependency although it did not succeed")
    }
    return value
  }

  /// The events of this run. Each access is a new subscriber, which begins with the run's first event.
  ///
  /// The stream ends after ``ProcedureEvent/Kind-swift.enum/didFinish(_:)``. A slow subscriber delays nobody and loses nothing. A
  /// body that waits for an event lends its slot. Cancelling the task that iterates the stream ends the stream. The stream is for
  /// one consumer: when two tasks iterate it, each event goes to one of them.
  public var events: AsyncStream<ProcedureEvent> {
    run.core.events(of: run)
  }

  /// The same run, as one that never fails: for dependents that are to run whatever happened.
  ///
  /// What the value of this handle would throw is the failure here. Cancelling it cancels the run.
  public var result: ProcedureHandle<Result<Output, any Error>> {
    ProcedureHandle<Result<Output, any Error>>(run) { [self] in
      .finished(Result { () throws in try finishedOutcome.get(of: identity) })
    }
  }

  /// Cancels the run.
  ///
  /// Before the body has started, it never will, and the run finishes at once. While the body executes, its task is
  /// cancelled; the outcome is `cancelled`, whatever the body then returns. Afterwards, and the second time, this does
  /// nothing. Handlers of the body's (`withTaskCancellationHandler`) are called before this returns.
  ///
  /// - Parameter reason: What ``value`` throws; `CancellationError` without one.
  public func cancel(_ reason: (any Error)? = nil) {
    run.core.cancel(run, reason)
  }

  /// Moves the run up to this priority in the order of its queue, and what it depends on as well.
  ///
  /// What depends on a run does this for it. A body that executes already is not concerned, but what it has started is.
  public func raise(to priority: TaskPriority) {
    if priority.rawValue > run.priority { run.raise(to: priority) }
  }

  /// Calls `notify` exactly once: at once if the run has finished, as soon as it has otherwise.
  public func whenFinished(_ notify: @escaping @Sendable (ProcedureOutcome<Void>) -> Void) {
    switch source {
    case .run(let run): run.whenFinished(notify)
    case .derived(let derivation): derivation.run.whenFinished { _ in notify(.finished(())) }
    }
  }
}

extension ProcedureHandle: Hashable {
  /// Whether both stand for the same run.
  ///
  /// - Parameters:
  ///   - left: A handle.
  ///   - right: Another one.
  /// - Returns: Whether they do.
  public static func == (left: Self, right: Self) -> Bool { left.run === right.run }

  /// Feeds the run to a hasher.
  ///
  /// - Parameter hasher: The hasher.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension ProcedureHandle: CustomStringConvertible {
  /// The run as people read it: `"Resize" (#42), executing`.
  public var description: String {
    "\(identity), \(state)"
  }
}
