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
