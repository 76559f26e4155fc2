import Synchronization

/// Internal. A wait for a call, which the waiting task may leave, or which may be refused, before the call: only the first of the three counts.
///
/// `package` for `ProcedureKitRemote`.
package final class Wakeup: Sendable {
  private enum State {
    case waiting(Waiter?)
    case called
    case left
    /// The call would never have come.
    case refused(ProcedureError)
  }

  /// Grows in the order of the waits.
  let id = ProcedureID.reserve()
  private let state = Mutex(State.waiting(nil))

  package init() {}

  /// Calls the waiting task. Returns `false` if the task has left, or was called before.
  @discardableResult
  package func call() -> Bool { end(as: .called) }

  /// Leaves, if the call has not come.
  func leave() { _ = end(as: .left) }

  /// Ends the wait with an error, if the call has not come.
  func refuse(_ error: ProcedureError) { _ = end(as: .refused(error)) }

  /// Waits for the call; cancelling the caller leaves at once. Returns whether the call came.
  package func wait() async -> Bool {
    await withTaskCancellationHandler {
      await waitUntilCalled()
    } onCancel: {
      leave()
    }
    return !wasLeft
  }

  /// Waits until the wakeup is called or left, also if the caller is cancelled.
  package func waitUntilCalled() async {
    await Waiter.suspend { waiter in
      state.withLock { state in
        guard case .waiting = state else { return false }
        state = .waiting(waiter)
        return true
      }
    }
  }

  /// Whether the wakeup was called or left.
  package var isOver: Bool { state.withLock { if case .waiting = $0 { false } else { true } } }

  /// Whether the wakeup was left before the call.
  var wasLeft: Bool { state.withLock { if case .left = $0 { true } else { false } } }

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
/// Invariant: a waiter is stored in one place under one lock, whoever takes it out of there resumes it, and what stores
/// waiters takes all of them out before it goes away. That is what makes the unchecked continuation sound: it can neither
/// be resumed twice nor be forgotten.
struct Waiter: Sendable {
  private let continuation: UnsafeContinuation<Void, Never>

  /// Lets the waiting task go on. Never called under a lock.
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
