import Synchronization

/// A signal for one waiting task. A signal can be sent, cancelled, or refused with an error. Only the first of these actions takes effect.
///
/// The class is `package` because `ProcedureKitPacing` and `ProcedureKitRemote` use it.
package final class OneShotSignal: Sendable {
  private enum State {
    case waiting(Waiter?)
    case signalled
    case cancelled
    /// The wait was refused because it was part of a deadlock, so the signal would never have been sent.
    case refused(ProcedureError)
  }

  /// The identity of the signal. Later signals have larger IDs.
  let id = ProcedureID.reserve()
  private let state = Mutex(State.waiting(nil))

  package init() {}

  /// Resumes the waiting task. Returns `false` if the signal has already been sent, cancelled, or refused.
  @discardableResult
  package func signal() -> Bool { end(as: .signalled) }

  /// Cancels the wait, unless the signal has already been sent.
  func cancel() { _ = end(as: .cancelled) }

  /// Ends the wait with an error, unless the signal has already been sent.
  func refuse(_ error: ProcedureError) { _ = end(as: .refused(error)) }

  /// Waits for the signal. Cancelling the calling task ends the wait immediately. Returns `false` if the wait was cancelled.
  package func wait() async -> Bool {
    await withTaskCancellationHandler {
      await waitUntilResolved()
    } onCancel: {
      cancel()
    }
    return !wasCancelled
  }

  /// Waits until the signal is resolved, even if the calling task is cancelled.
  package func waitUntilResolved() async {
    await Waiter.suspend { waiter in
      state.withLock { state in
        guard case .waiting = state else { return false }
        state = .waiting(waiter)
        return true
      }
    }
  }

  /// Whether the signal was sent, cancelled, or refused.
  package var isResolved: Bool { state.withLock { if case .waiting = $0 { false } else { true } } }

  /// Whether the wait was cancelled before the signal was sent.
  var wasCancelled: Bool { state.withLock { if case .cancelled = $0 { true } else { false } } }

  /// The error with which the wait was refused, if any.
  var refusal: ProcedureError? { state.withLock { if case .refused(let error) = $0 { error } else { nil } } }

  private func end(as end: State) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, Waiter?) in
      guard case .waiting(let waiter) = state else { return (false, nil) }
      state = end
      return (true, waiter)
    }
    waiter?.resume()
    return isFirst
  }
}

/// A suspended task, which is resumed exactly once.
///
/// Invariant: a waiter is stored in only one place, which is guarded by a lock. The code that removes the waiter resumes it. The owner of
/// the place removes all waiters before it is deallocated. Therefore, the unchecked continuation is resumed exactly once.
struct Waiter: Sendable {
  private let continuation: UnsafeContinuation<Void, Never>

  /// Resumes the waiting task. This function must not be called while a lock is held.
  func resume() {
    continuation.resume()
  }

  /// Suspends the current task until the waiter is resumed. Does not suspend if `register` returns `false`.
  ///
  /// - Parameter register: A closure that stores the waiter and returns `true`, or returns `false` if there is nothing to wait for.
  static func suspend(_ register: (Waiter) -> Bool) async {
    await withUnsafeContinuation { continuation in
      if !register(Waiter(continuation: continuation)) { continuation.resume() }
    }
  }
}
