import Synchronization

/// Internal. Whether the body of one level has started: what comes before may take long, and a deadline counts that.
final class BodyStart: Sendable {
  private let isPast = Atomic(false)

  /// The body is about to start.
  func bodyStarts() {
    isPast.store(true, ordering: .releasing)
  }

  /// Whether the body has started.
  var hasHappened: Bool {
    isPast.load(ordering: .acquiring)
  }
}
