import Synchronization

/// Internal. A signal for one waiting task, which is sent, cancelled by the task, or refused with an error: only the first of the three counts.
///
/// `package` for `ProcedureKitRemote`.
package final class OneShotSignal: Sendable {
  private enum State {
    case waiting(Waiter?)
    case signalled
    case cancelled
    /// The signal would never have been sent.
    case refused(ProcedureError)
  }

  /// Grows in the order of the waits.
  let id = ProcedureID.reserve()
  private let state = Mutex(State.waiting(nil))

  package init() {}

  /// Resumes the waiting task. Returns `false` if the signal was cancelled, refused or sent before.
  @discardableResult
  package func signal() -> Bool { end(as: .signalled) }

  /// Cancels the wait, unless the signal was sent.
  func cancel() { _ = end(as: .cancelled) }

  /// Ends the wait with an error, unless the signal was sent.
  func refuse(_ error: ProcedureError) { _ = end(as: .refused(error)) }

  /// Waits for the signal; cancelling the calling task ends the wait at once. Returns whether the signal was sent.
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

  /// Whether the signal was sent, cancelled or refused.
  package var isResolved: Bool { state.withLock { if case .waiting = $0 { false } else { true } } }

  /// Whether the wait was cancelled before the signal was sent.
  var wasCancelled: Bool { state.withLock { if case .cancelled = $0 { true } else { false } } }

  /// The error with which the wait was ended, if it was.
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

/// Internal. A suspended task, to be resumed exactly once.
///
/// Invariant: a waiter is stored in one place under one lock; the code that takes it out resumes it; and the owner of that place takes all
/// waiters out before it is released. This makes the unchecked continuation sound: it is resumed exactly once.
struct Waiter: Sendable {
  private let continuation: UnsafeContinuation<Void, Never>

  /// Resumes the waiting task. Never called under a lock.
  func resume() {
    continuation.resume()
  }

  /// Suspends the current task. `register` stores the waiter, or says that there is nothing to wait for.
  ///
  /// - Parameter register: Called at once, before the task is suspended; `true` if it stored the waiter.
  static func suspend(_ register: (Waiter) -> Bool) async {
    await withUnsafeContinuation { continuation in
      if !register(Waiter(continuation: continuation)) { continuation.resume() }
    }
  }
}
