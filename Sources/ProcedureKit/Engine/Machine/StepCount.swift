import Synchronization

/// Internal. Counts what a deciding structure does, for tests of what that costs. In release builds it counts nothing.
struct StepCount: ~Copyable, Sendable {
  #if DEBUG
    private let count = Atomic(0)

    var total: Int { count.load(ordering: .relaxed) }

    func note() { count.add(1, ordering: .relaxed) }
  #else
    var total: Int { 0 }

    func note() {}
  #endif
}
