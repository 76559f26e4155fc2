import TestingProcedureKit

/// A stock whose last piece can be sold twice, because the check and the sale acquire the lock separately.
enum CheckOutsideLock: PlantedBug {
  private final class Stock: Sendable {
    let pieces = ExploredMutex(1)

    func buy(_ version: Version) {
      switch version {
      case .broken: if pieces.withLock({ $0 > 0 }) { pieces.withLock { $0 -= 1 } }
      case .fixed: pieces.withLock { if $0 > 0 { $0 -= 1 } }
      }
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let stock = Stock()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<3 { group.addTask { stock.buy(version) } }
    }
    env.check(stock.pieces.withLock { $0 } == 0, "no more pieces are sold than exist")
  }
}
