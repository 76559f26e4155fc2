import Synchronization

/// State that is guarded by a lock, with a list of the tasks that are waiting for it to change. Waiting tasks can be cancelled.
///
/// Invariant: A continuation is added to `Waiters.waiting` while the lock is held. The thread that removes a continuation resumes it once,
/// after releasing the lock. A waiter stays in the list until it is answered or cancelled. Therefore, it is safe to use unchecked
/// continuations.
final class WaiterList<State: Sendable, Request: Sendable, Answer: Sendable>: Sendable {
  /// A waiting task.
  struct Waiter: Sendable {
    let number: UInt64
    let request: Request
    fileprivate let continuation: UnsafeContinuation<Answer, any Error>
  }

  /// The waiting tasks. Finding, adding or removing a waiter takes O(1) time.
  struct Waiters: Sendable {
    fileprivate var waiting: [UInt64: Waiter] = [:]
    fileprivate var answered: [(waiter: Waiter, answer: Result<Answer, any Error>)] = []
    fileprivate var lastNumber: UInt64 = 0

    var count: Int { waiting.count }

    /// Answers the waiter identified by `number`, which is resumed with the answer after the lock has been released.
    ///
    /// - Returns: Whether the list contained the waiter.
    @discardableResult
    mutating func answer(_ number: UInt64, _ answer: Result<Answer, any Error>) -> Bool {
      guard let waiter = waiting.removeValue(forKey: number) else { return false }
      answered.append((waiter, answer))
      return true
    }

    /// Answers every waiter whose request satisfies `isMet`, in the order of the waiters' numbers. The call takes O(n log n) time.
    mutating func answer(_ answer: Result<Answer, any Error>, where isMet: (Request) -> Bool) {
      if waiting.isEmpty { return }
      for number in waiting.values.filter({ isMet($0.request) }).map(\.number).sorted() {
        self.answer(number, answer)
      }
    }
  }

  private struct Contents {
    var state: State
    var waiters = Waiters()
  }

  private let contents: Mutex<Contents>

  init(_ state: State) {
    contents = Mutex(Contents(state: state))
  }

  /// Reads the guarded state.
  func read<R: Sendable>(_ body: (inout State) -> R) -> R {
    contents.withLock { body(&$0.state) }
  }

  /// Reads or changes the guarded state. Answered waiters resume in order after the lock has been released.
  @discardableResult
  func withLock<R: Sendable>(_ change: (inout State, inout Waiters) -> R) -> R {
    let (result, answered) = contents.withLock { contents in
      let result = change(&contents.state, &contents.waiters)
      let answered = contents.waiters.answered
      if !answered.isEmpty { contents.waiters.answered = [] }
      return (result, answered)
    }
    for (waiter, answer) in answered { waiter.continuation.resume(with: answer) }
    return result
  }

  /// Waits for an answer.
  ///
  /// - Parameters:
  ///   - isCancellable: Whether cancelling the task ends the wait.
  ///   - request: A closure that creates the request, given the waiter's number. It is called while the lock is held.
  ///   - immediateAnswer: A closure that returns an answer if the caller does not have to wait. It is called while the lock is held.
  ///   - didArrive: A closure that is called after the waiter has been added to the list, while the lock is still held.
  ///   - didWait: A closure that is called after the waiter has been added to the list and the lock has been released.
  ///   - didCancel: A closure that is called after a cancelled waiter has been removed from the list, while the lock is still held.
  /// - Returns: The answer.
  /// - Throws: The error in the answer, if the answer is a failure; `CancellationError` if the task is cancelled before the answer arrives.
  func wait(
    isCancellable: Bool = true,
    request: (UInt64) -> Request,
    immediateAnswer: (inout State) -> Result<Answer, any Error>?,
    didArrive: (inout State, inout Waiters, Waiter) -> Void = { _, _, _ in },
    didWait: () -> Void = {},
    didCancel: @escaping @Sendable (inout State, Waiter) -> Void = { _, _ in }
  ) async throws -> Answer {
    let number = withLock { _, waiters in
      waiters.lastNumber += 1
      return waiters.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let answer = withLock { state, waiters -> Result<Answer, any Error>? in
          // The task is marked as cancelled before its handlers are run, so either this check sees the mark, or the handler finds the
          // waiter.
          if isCancellable, Task.isCancelled { return .failure(CancellationError()) }
          if let answer = immediateAnswer(&state) { return answer }
          let waiter = Waiter(number: number, request: request(number), continuation: continuation)
          waiters.waiting[number] = waiter
          didArrive(&state, &waiters, waiter)
          return nil
        }
        if let answer { continuation.resume(with: answer) } else { didWait() }
      }
    } onCancel: {
      guard isCancellable else { return }
      withLock { state, waiters in
        guard let waiter = waiters.waiting[number] else { return }
        waiters.answer(number, .failure(CancellationError()))
        didCancel(&state, waiter)
      }
    }
  }
}
