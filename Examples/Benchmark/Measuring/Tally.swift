import Synchronization

/// Counts executed bodies, on request of a test. It captures nothing, so that it does not add to the cost of bodies.
enum Tally {
  private static let isCounting = Atomic(false)
  private static let count = Atomic(0)

  /// Called by every body of every contestant.
  static func note() {
    if isCounting.load(ordering: .relaxed) { count.add(1, ordering: .relaxed) }
  }

  /// Returns the number of bodies that `work` executes. One call at a time.
  static func counting(_ work: () async throws -> Void) async rethrows -> Int {
    count.store(0, ordering: .relaxed)
    isCounting.store(true, ordering: .relaxed)
    defer { isCounting.store(false, ordering: .relaxed) }
    try await work()
    return count.load(ordering: .relaxed)
  }
}
