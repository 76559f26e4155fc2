import TestingProcedureKit

/// Clients that back off for random times from the system's generator instead of the schedule's.
actor RandomNumbers: PlantedBug {
  private var requests = 0

  private func request() { requests += 1 }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let server = RandomNumbers()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<20 {
            let turns = version == .broken ? Int.random(in: 0..<16) : Int.random(in: 0..<16, using: &env.random)
            for _ in 0..<turns { await Task.yield() }
            await server.request()
          }
        }
      }
    }
    env.check(await server.requests == 40)
  }
}
