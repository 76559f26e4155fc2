import Synchronization

/// A lock, what it guards, and the tasks that wait for it to change. Whoever waits can be cancelled.
///
/// Invariant: a continuation is stored in `Guests.waiting` under the lock, whoever takes it out of there resumes it once,
/// after the lock has been left, and guests are kept until they are answered or cancelled. That is what makes the
/// unchecked continuations sound.
final class WaitingRoom<State: Sendable, Wish: Sendable, Answer: Sendable>: Sendable {
  /// A task that waits, and for what.
  struct Guest: Sendable {
    let number: UInt64
    let wish: Wish
    fileprivate let continuation: UnsafeContinuation<Answer, any Error>
  }

  /// The tasks that wait, in the order in which they came.
  struct Guests: Sendable {
    fileprivate(set) var waiting: [Guest] = []
    fileprivate var answered: [(guest: Guest, answer: Result<Answer, any Error>)] = []
    fileprivate var lastNumber: UInt64 = 0

    /// Ends the wait of the guest with that number, if it still waits; says whether it did.
    @discardableResult
    mutating func answer(_ number: UInt64, _ answer: Result<Answer, any Error>) -> Bool {
      guard let index = index(of: number) else { return false }
      answered.append((waiting.remove(at: index), answer))
      return true
    }

    /// Ends the wait of all guests whose wish is granted.
    mutating func answer(_ answer: Result<Answer, any Error>, where isGranted: (Wish) -> Bool) {
      answered += waiting.filter { isGranted($0.wish) }.map { ($0, answer) }
      waiting.removeAll { isGranted($0.wish) }
    }

    /// Numbers ascend.
    private func index(of number: UInt64) -> Int? {
      var (low, high) = (waiting.startIndex, waiting.endIndex)
      while low < high {
        let middle = low + (high - low) / 2
        if waiting[middle].number < number { low = middle + 1 } else { high = middle }
      }
      return low < waiting.endIndex && waiting[low].number == number ? low : nil
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

  /// Looks at, or changes, what is guarded; guests that are answered go on when the lock has been left, in that order.
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
  ///   - isCancellable: Whether a cancel of the task ends the wait.
  ///   - wish: What is waited for, made under the lock for the guest with that number.
  ///   - answerAtOnce: The answer, if none has to be waited for. Called under the lock, before the guest waits.
  ///   - didArrive: Called under the lock, once the guest waits.
  ///   - didCancel: Called under the lock, once the guest does not wait any more because it was cancelled.
  /// - Returns: The answer.
  /// - Throws: The answer, if it is an error; `CancellationError` if the task is cancelled before the answer comes.
  func wait(
    isCancellable: Bool = true,
    wish: (UInt64) -> Wish,
    answerAtOnce: (inout State) -> Result<Answer, any Error>?,
    didArrive: (inout State, inout Guests, Guest) -> Void = { _, _, _ in },
    didCancel: @escaping @Sendable (inout State, Guest) -> Void = { _, _ in }
  ) async throws -> Answer {
    let number = visit { _, guests in
      guests.lastNumber += 1
      return guests.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        let answer = visit { state, guests -> Result<Answer, any Error>? in
          // Set before cancellation handlers run, so that either it is seen here or the handler finds the guest.
          if isCancellable, Task.isCancelled { return .failure(CancellationError()) }
          if let answer = answerAtOnce(&state) { return answer }
          let guest = Guest(number: number, wish: wish(number), continuation: continuation)
          // A number that was handed out earlier may arrive later.
          let index = guests.waiting.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
          guests.waiting.insert(guest, at: index)
          didArrive(&state, &guests, guest)
          return nil
        }
        if let answer { continuation.resume(with: answer) }
      }
    } onCancel: {
      guard isCancellable else { return }
      visit { state, guests in
        guard let guest = guests.waiting.first(where: { $0.number == number }) else { return }
        guests.answer(number, .failure(CancellationError()))
        didCancel(&state, guest)
      }
    }
  }
}
