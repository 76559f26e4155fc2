import Synchronization

/// A lock, its guarded state, and the tasks that wait for a change of the state. A waiting task can be cancelled.
///
/// Invariant: a continuation enters `Guests.waiting` under the lock. The thread that removes a continuation resumes the
/// continuation once, after leaving the lock. A guest stays until the guest is answered or cancelled. The unchecked
/// continuations are therefore sound.
final class WaitingRoom<State: Sendable, Wish: Sendable, Answer: Sendable>: Sendable {
  /// A waiting task.
  struct Guest: Sendable {
    let number: UInt64
    let wish: Wish
    fileprivate let continuation: UnsafeContinuation<Answer, any Error>
  }

  /// The waiting tasks. Finding, adding and removing a guest takes O(1).
  struct Guests: Sendable {
    fileprivate var waiting: [UInt64: Guest] = [:]
    fileprivate var answered: [(guest: Guest, answer: Result<Answer, any Error>)] = []
    fileprivate var lastNumber: UInt64 = 0

    var count: Int { waiting.count }

    /// Ends the wait of the guest with `number`.
    ///
    /// - Returns: Whether the guest was waiting.
    @discardableResult
    mutating func answer(_ number: UInt64, _ answer: Result<Answer, any Error>) -> Bool {
      guard let guest = waiting.removeValue(forKey: number) else { return false }
      answered.append((guest, answer))
      return true
    }

    /// Ends the wait of every guest whose `wish` passes `isGranted`, in the order of their numbers, in O(n log n).
    mutating func answer(_ answer: Result<Answer, any Error>, where isGranted: (Wish) -> Bool) {
      for number in waiting.values.filter({ isGranted($0.wish) }).map(\.number).sorted() {
        self.answer(number, answer)
      }
    }
  }

  private struct Contents {
    var state: State
    var guests = Guests()
  }

  private let contents: Mutex<Contents>

  init(_ state: State) {
    contents = Mutex(Contents(state: state))
  }

  /// Reads or changes the guarded state. Answered guests resume after the lock has been left, in order.
  @discardableResult
  func visit<R: Sendable>(_ change: (inout State, inout Guests) -> R) -> R {
    let (result, answered) = contents.withLock { contents in
      let result = change(&contents.state, &contents.guests)
      let answered = contents.guests.answered
      if !answered.isEmpty { contents.guests.answered = [] }
      return (result, answered)
    }
    for (guest, answer) in answered { guest.continuation.resume(with: answer) }
    return result
  }

  /// Waits for an answer.
  ///
  /// - Parameters:
  ///   - isCancellable: Whether cancelling the task ends the wait.
  ///   - wish: Makes the guest's request, under the lock, from the guest's number.
  ///   - answerAtOnce: Returns an immediate answer. Called under the lock, before the guest waits.
  ///   - didArrive: Called under the lock, when the guest has started to wait.
  ///   - didWait: Called without the lock, when the guest has started to wait.
  ///   - didCancel: Called under the lock, when a cancelled guest has stopped waiting.
  /// - Returns: The answer.
  /// - Throws: The error of the answer; `CancellationError` if the task is cancelled before the answer.
  func wait(
    isCancellable: Bool = true,
    wish: (UInt64) -> Wish,
    answerAtOnce: (inout State) -> Result<Answer, any Error>?,
    didArrive: (inout State, inout Guests, Guest) -> Void = { _, _, _ in },
    didWait: () -> Void = {},
    didCancel: @escaping @Sendable (inout State, Guest) -> Void = { _, _ in }
  ) async throws -> Answer {
    let number = visit { _, guests in
      guests.lastNumber += 1
      return guests.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let answer = visit { state, guests -> Result<Answer, any Error>? in
          // The task is marked as cancelled before its handlers run: either this check sees the mark, or the handler
          // finds the guest.
          if isCancellable, Task.isCancelled { return .failure(CancellationError()) }
          if let answer = answerAtOnce(&state) { return answer }
          let guest = Guest(number: number, wish: wish(number), continuation: continuation)
          guests.waiting[number] = guest
          didArrive(&state, &guests, guest)
          return nil
        }
        if let answer { continuation.resume(with: answer) } else { didWait() }
      }
    } onCancel: {
      guard isCancellable else { return }
      visit { state, guests in
        guard let guest = guests.waiting[number] else { return }
        guests.answer(number, .failure(CancellationError()))
        didCancel(&state, guest)
      }
    }
  }
}
