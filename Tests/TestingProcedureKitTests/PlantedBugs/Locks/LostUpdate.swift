import Synchronization
import TestingProcedureKit

/// A counter that is read and written in two operations, so two increments can count as one.
enum LostUpdate: PlantedBug {
  private final class Counter: Sendable {
    let count = ExploredAtomic(0)

    func increment(_ version: Version) {
      switch version {
      case .broken: count.store(count.load(ordering: .relaxed) + 1, ordering: .relaxed)
      case .fixed: count.add(1, ordering: .relaxed)
      }
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let counter = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 { group.addTask { counter.increment(version) } }
    }
    env.check(counter.count.load(ordering: .relaxed) == 3, "each increment counts")
  }
}
