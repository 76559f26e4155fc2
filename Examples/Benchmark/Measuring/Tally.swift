import Synchronization

/// A counter of executed bodies. It counts only during ``counting(_:)``, which tests call. Bodies do not capture the counter, so it does
/// not add to their cost.
enum Tally {
  private static let isCounting = Atomic(false)
  private static let count = Atomic(0)

  /// Counts one body. Every body of every contestant calls this function.
  static func note() {
    if isCounting.load(ordering: .relaxed) { count.add(1, ordering: .relaxed) }
  }

  /// Returns the number of bodies that `work` executes. Only one call may be in progress at a time.
  static func counting(_ work: () async throws -> Void) async rethrows -> Int {
    count.store(0, ordering: .relaxed)
    isCounting.store(true, ordering: .relaxed)
    defer { isCounting.store(false, ordering: .relaxed) }
    try await work()
    return count.load(ordering: .relaxed)
  }
}
