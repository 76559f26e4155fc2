import Synchronization

/// Internal. A procedure that is awaited without any queue.
///
/// Invariant: it stores constants, and what has its own lock.
final class UnqueuedScope: ProcedureScope, @unchecked Sendable {
  private struct State {
    var cancel: Cancel?
    /// Whether the body has ended, and all that it had produced: there is nothing to cancel any more.
    var isOver = false
    /// What wants to know of a cancel.
    var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  private let name: String
  private let id = ProcedureID.reserve()
  private let state = Mutex(State())

  init(name: String) {
    self.name = name
    super.init()
  }

  override var identity: ProcedureIdentity {
    ProcedureIdentity(id: id, name: name)
  }

  override var isCancelled: Bool { state.withLock { $0.cancel != nil } }

  override var cancellationReason: (any Error)? { state.withLock { $0.cancel?.reason } }

  override func cancel(_ reason: (any Error)?) {
    let handlers = state.withLock { state -> [@Sendable () -> Void]? in
      guard state.cancel == nil, !state.isOver else { return nil }
      state.cancel = Cancel(reason: reason)
      return Array(state.handlers.values)
    }
    guard let handlers else { return }
    children?.cancel(reason)
    for handler in handlers { handler() }
  }

  /// The body has ended, and all that it had produced; no cancel counts any more.
  ///
  /// - Parameter cancel: What it was cancelled by unless it was before: a cancel of its task, or a timeout.
  /// - Returns: The cancel that counts.
  func end(unlessBefore cancel: Cancel?) -> Cancel? {
    state.withLock { state in
      state.isOver = true
      if state.cancel == nil { state.cancel = cancel }
      return state.cancel
    }
  }

  override func stopBody() {
    for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
  }

  override func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      state.handlers[ObjectIdentifier(key)] = handler
      return state.cancel != nil
    }
    if isCancelled || children?.isStopping ?? false { handler() }
  }

  override func removeCancellationHandler(key: AnyObject) {
    _ = state.withLock { $0.handlers.removeValue(forKey: ObjectIdentifier(key)) }
  }
}
