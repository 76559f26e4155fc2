import Synchronization
import TestingProcedureKit

/// A lock that waits in a loop, and reads and writes its flag in two operations.
enum SpinLock: PlantedBug {
  private final class Spin: Sendable {
    private let isLocked = ExploredAtomic(false)
    let inside = ExploredAtomic(0)

    func lock(_ version: Version) {
      switch version {
      case .broken:
        while isLocked.load(ordering: .acquiring) {}
        isLocked.store(true, ordering: .relaxed)
      case .fixed:
        while isLocked.exchange(true, ordering: .acquiring) {}
      }
    }

    func unlock() { isLocked.store(false, ordering: .releasing) }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let spin = Spin()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          spin.lock(version)
          env.check(spin.inside.add(1, ordering: .relaxed).newValue == 1, "one at a time")
          spin.inside.subtract(1, ordering: .relaxed)
          spin.unlock()
        }
      }
    }
  }
}
