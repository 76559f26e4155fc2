import TestSupport
import TestingProcedureKit

/// A counter of requests that all schedules share, like a singleton.
actor OutlivingState: PlantedBug {
  private static let shared = OutlivingState()

  private var requests = 0

  private func request() -> Int {
    requests += 1
    return requests
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let counter = version == .broken ? shared : OutlivingState()
    for _ in 0..<2 {
      // Every seventh request is logged.
      for _ in 0..<(await counter.request() % 7) { await Task.yield() }
    }
    env.check(await counter.requests >= 2)
  }
}
