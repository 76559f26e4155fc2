import Synchronization

/// Counts the bodies that are executed, while a test asks for it. Nothing is captured, so that bodies stay free of charge.
enum Tally {
  private static let isCounting = Atomic(false)
  private static let count = Atomic(0)

  /// What every body of every contestant does.
  static func note() {
    if isCounting.load(ordering: .relaxed) { count.add(1, ordering: .relaxed) }
  }

  /// How many bodies `work` executes; one call at a time.
  static func counting(_ work: () async throws -> Void) async rethrows -> Int {
    count.store(0, ordering: .relaxed)
    isCounting.store(true, ordering: .relaxed)
    defer { isCounting.store(false, ordering: .relaxed) }
    try await work()
    return count.load(ordering: .relaxed)
  }
}
