/// A count that others can wait for.
final class Milestones: Sendable {
  private let room = WaitingRoom<Int, Int, Void>(0)

  var count: Int { room.visit { count, _ in count } }

  /// Counts one more, and lets those go on who waited for it, in the order in which they came.
  func increment() {
    room.visit { count, guests in
      count += 1
      let reached = count
      guests.answer(.success(())) { $0 <= reached }
    }
  }

  /// Waits until the count has come to `count`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  func wait(for count: Int) async throws {
    try await room.wait(wish: { _ in count }, answerAtOnce: { $0 >= count ? .success(()) : nil })
  }
}
