import TestSupport
import TestingProcedureKit

/// Listeners that are told in the order of a Set, which differs from set to set.
actor OrderOfASet: PlantedBug {
  /// The sets so far, so that no two have the same address, and therefore the same order.
  private static let sets = Locked<[Set<String>]>([])

  private var told: [String] = []

  private func tell(_ listener: String) { told.append(listener) }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let center = OrderOfASet()
    let listeners = Set((0..<16).map { "listener \($0)" })
    if version == .broken { sets { $0.append(listeners) } }
    for listener in version == .broken ? Array(listeners) : listeners.sorted() {
      async let telling: Void = center.tell(listener)
      if listener.last?.isMultipleOfTwo ?? false { await Task.yield() }
      await telling
    }
    env.check(await center.told.count == 16)
  }
}

extension Character {
  fileprivate var isMultipleOfTwo: Bool { wholeNumberValue.map { $0 % 2 == 0 } ?? false }
}
