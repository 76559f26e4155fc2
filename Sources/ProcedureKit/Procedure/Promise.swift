import Synchronization

/// A procedure that is finished explicitly by other code: the counterpart of ``ProcedureTask`` for callbacks.
///
/// ```swift
/// let reply = Promise<Data>("reply")
/// connection.onReply = { result in reply.finish(with: result) }
/// let parsed = queue.add(parse, from: queue.add(reply))
/// ```
///
/// Any code can finish the promise, on any thread and without `await`. For example, `Unmanaged` can pass the promise to a C callback
/// through the callback's context pointer. A run can start before or after the promise is finished, and all runs receive the same result. A
/// run holds no slot while it waits for the promise.
///
/// - *Finished twice:* only the first call has an effect; later calls return `false`.
/// - *Never finished:* when the last reference to the promise is released, each waiting run fails with
///   ``ProcedureError/Kind/promiseReleased``. Runs and modifiers do not retain the promise. As long as other code retains it, runs continue
///   to wait; to limit the wait, use ``Procedure/timeout(_:)``.
/// - *Cancelled:* a cancelled run ends immediately. The promise itself is not cancelled: it can still be finished, and other runs continue
///   to wait for it.
///
/// To cancel the underlying work if it is no longer needed, use ``Procedure/onDidFinish(_:)``, which is also called after a timeout.
public final class Promise<Value: Sendable>: InputlessProcedure {
  /// The name in errors, events and snapshots.
  public let name: String
  private let state: PromiseState<Value>

  /// Creates an unfinished promise.
  public init(_ name: String = "Promise") {
    self.name = name
    state = PromiseState()
  }

  deinit { state.release() }

  /// Whether the promise has been finished with a value or an error.
  public var isFinished: Bool { state.isFinished }

  /// Finishes the promise with a value. Returns `false`, and has no effect, if the promise has already been finished.
  @discardableResult
  public func finish(returning value: Value) -> Bool { finish(with: .success(value)) }

  /// Finishes the promise with an error. Each run fails with this error.
  ///
  /// Returns `false`, and has no effect, if the promise has already been finished.
  @discardableResult
  public func finish(throwing error: any Error) -> Bool { finish(with: .failure(error)) }

  /// Finishes the promise with a result. Returns `false`, and has no effect, if the promise has already been finished.
  ///
  /// - Complexity: O(n log n) for n waiting runs.
  @discardableResult
  public func finish(with result: Result<Value, any Error>) -> Bool { state.finish(.finished(result)) }

  /// Waits until the promise is finished. Cancelling the caller ends the wait immediately.
  ///
  /// - Throws: The error with which the promise was finished. If the wait is cancelled, the error is the reason for the cancellation,
  ///   or `CancellationError` if there is no reason. If the promise is released before it is finished, the error is a ``ProcedureError`` of
  ///   kind ``ProcedureError/Kind/promiseReleased``.
  @concurrent public func execute() async throws -> Value { try await state.value(named: name) }

  /// A task that waits for the promise without retaining it.
  public var procedureTask: ProcedureTask<Void, Value> {
    ProcedureTask(name) { [state, name] in try await state.value(named: name) }
  }
}

/// The state of a promise. Waiting runs retain the state instead of the promise.
private final class PromiseState<Value: Sendable>: Sendable {
  enum End: Sendable {
    case finished(Result<Value, any Error>)
    /// The last reference to the promise was released.
    case released
  }

  private struct Contents: Sendable {
    var end: End?
    /// The signals of the waiting runs.
    var waiters: [ProcedureID: OneShotSignal] = [:]
  }

  private let contents = Mutex(Contents())

  var isFinished: Bool { contents.withLock { $0.end != nil } }

  func release() { _ = finish(.released) }

  func finish(_ end: End) -> Bool {
    let waiters = contents.withLock { contents -> [ProcedureID: OneShotSignal]? in
      guard contents.end == nil else { return nil }
      contents.end = end
      defer { contents.waiters = [:] }
      return contents.waiters
    }
    // The signals are sent after the lock is released, in the order in which the waits began.
    for waiter in (waiters ?? [:]).inOrder { waiter.signal() }
    return waiters != nil
  }

  func value(named name: String) async throws -> Value {
    let signal = OneShotSignal()
    let hasFinished = contents.withLock { contents in
      if contents.end == nil { contents.waiters[signal.id] = signal }
      return contents.end != nil
    }
    if !hasFinished {
      // Cancellation ends the wait.
      await ProcedureContext.withSlotReleased(waitingFor: name) { _ = await ProcedureContext.wait(at: signal) }
    }
    let end = contents.withLock { contents in
      contents.waiters[signal.id] = nil
      return contents.end
    }
    switch end {
    case .finished(let result): return try result.get()
    case .released:
      let procedure = ProcedureContext.current?.identity ?? ProcedureIdentity(id: .reserve(), name: name)
      throw ProcedureError(.promiseReleased, procedure: procedure)
    case nil: throw ProcedureContext.cancellationError
    }
  }
}
