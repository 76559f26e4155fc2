/// The permits to run an exploration: one for each processor, given in order of arrival.
///
/// Explorations have threads of their own. Without a limit, the explorations of a test run would all compete for the
/// processors at the same time. An exploration that waits for a permit occupies no thread.
final class ExplorationPermits: Sendable {
  static let shared = ExplorationPermits(count: Platform.processorCount)

  private let gate = Gate<Void>()

  init(count: Int) {
    for _ in 0..<max(count, 1) { giveBack() }
  }

  /// Waits for a permit.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before.
  func take() async throws {
    try await gate.word(ignoringCancellation: false)
  }

  func giveBack() {
    gate.say(.success(()))
  }
}
