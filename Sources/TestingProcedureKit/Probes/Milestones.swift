/// A counter whose values tasks can await.
final class Milestones: Sendable {
  private let room = WaitingRoom<Int, Int, Void>(0)

  var count: Int { room.visit { count, _ in count } }

  /// Increments the count, and resumes the tasks that wait for the new count, in order of arrival.
  func increment() {
    room.visit { count, guests in
      count += 1
      let reached = count
      guests.answer(.success(())) { $0 <= reached }
    }
  }

  /// Waits until the count is at least `count`.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  func wait(for count: Int) async throws {
    try await room.wait(wish: { _ in count }, answerAtOnce: { $0 >= count ? .success(()) : nil })
  }
}
