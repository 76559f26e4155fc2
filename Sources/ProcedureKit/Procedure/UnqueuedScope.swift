import Synchronization

/// Internal. A procedure that is awaited without any queue.
///
/// Invariant: it stores constants, and what has its own lock.
final class UnqueuedScope: ProcedureScope, @unchecked Sendable {
  private struct State {
    var cancellation: Cancellation?
    /// What wants to know of a cancel.
    var handlers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  private struct Cancellation {
    let reason: (any Error)?
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

  override var isCancelled: Bool { state.withLock { $0.cancellation != nil } }

  override var cancellationReason: (any Error)? { state.withLock { $0.cancellation?.reason } }

  override func cancel(_ reason: (any Error)?) {
    let handlers = state.withLock { state -> [@Sendable () -> Void]? in
      guard state.cancellation == nil else { return nil }
      state.cancellation = Cancellation(reason: reason)
      return Array(state.handlers.values)
    }
    guard let handlers else { return }
    children?.cancel(reason)
    for handler in handlers { handler() }
  }

  override func stopBody() {
    for handler in state.withLock({ Array($0.handlers.values) }) { handler() }
  }

  override func addCancellationHandler(key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      state.handlers[ObjectIdentifier(key)] = handler
      return state.cancellation != nil
    }
    if isCancelled || children?.isStopping ?? false { handler() }
  }

  override func removeCancellationHandler(key: AnyObject) {
    _ = state.withLock { $0.handlers.removeValue(forKey: ObjectIdentifier(key)) }
  }
}
