import Synchronization
import TestingProcedureKit

/// A lazily initialized value. The flag that avoids the lock is set before the value.
enum DoubleCheckedInitialization: PlantedBug {
  private final class Lazy: Sendable {
    private let isMade = ExploredAtomic(false)
    private let value = ExploredAtomic(0)
    private let making = ExploredMutex(())

    func get(_ version: Version) -> Int {
      if !isMade.load(ordering: .acquiring) {
        making.withLock { _ in
          guard !isMade.load(ordering: .relaxed) else { return }
          if version == .fixed { value.store(7, ordering: .relaxed) }
          isMade.store(true, ordering: .releasing)
          if version == .broken { value.store(7, ordering: .relaxed) }
        }
      }
      return value.load(ordering: .relaxed)
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let lazy = Lazy()
    async let first = lazy.get(version)
    async let second = lazy.get(version)
    let values = await [first, second]
    env.check(values == [7, 7], "every reader sees the value")
  }
}
