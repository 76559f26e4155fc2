import TestingProcedureKit

/// Accounts whose transfers lock both accounts, either in the order of the transfer or in the order of the accounts' numbers.
enum OppositeLocks: PlantedBug {
  private final class Account: Sendable {
    let number: Int
    let balance = ExploredMutex(100)

    init(_ number: Int) { self.number = number }

    func transfer(_ amount: Int, to other: Account, _ version: Version) {
      let isFirst = version == .broken || number < other.number
      let (outer, inner) = isFirst ? (self, other) : (other, self)
      outer.balance.withLock { outerBalance in
        inner.balance.withLock { innerBalance in
          outerBalance -= isFirst ? amount : -amount
          innerBalance += isFirst ? amount : -amount
        }
      }
    }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let (mine, yours) = (Account(1), Account(2))
    async let there: Void = mine.transfer(30, to: yours, version)
    async let back: Void = yours.transfer(10, to: mine, version)
    _ = await (there, back)
    env.check(mine.balance.withLock { $0 } == 80)
  }
}
