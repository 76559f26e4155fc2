import TestSupport
import TestingProcedureKit

/// Listeners that are notified in the order of a `Set`, which differs from set to set.
actor OrderOfASet: PlantedBug {
  /// The sets so far. They are kept so that no two sets have the same address, and therefore the same order.
  private static let sets = Locked<[Set<String>]>([])

  private var notified: [String] = []

  private func notify(_ listener: String) { notified.append(listener) }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let center = OrderOfASet()
    let listeners = Set((0..<16).map { "listener \($0)" })
    if version == .broken { sets { $0.append(listeners) } }
    for listener in version == .broken ? Array(listeners) : listeners.sorted() {
      async let notification: Void = center.notify(listener)
      if listener.last?.isMultipleOfTwo ?? false { await Task.yield() }
      await notification
    }
    env.check(await center.notified.count == 16)
  }
}

extension Character {
  fileprivate var isMultipleOfTwo: Bool { wholeNumberValue.map { $0 % 2 == 0 } ?? false }
}
