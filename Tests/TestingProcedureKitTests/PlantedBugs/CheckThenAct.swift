import TestingProcedureKit

/// A pool that checks for a free slot in one visit to the actor and takes the slot in another, so its limit can be exceeded.
actor CheckThenAct: PlantedBug {
  private let limit = 2
  private var running = 0
  private var most = 0

  private var hasFreeSlot: Bool { running < limit }

  private func start() {
    running += 1
    most = max(most, running)
  }

  private func startIfFree() -> Bool {
    guard hasFreeSlot else { return false }
    start()
    return true
  }

  private func end() {
    running -= 1
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let pool = CheckThenAct()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          switch version {
          case .broken:
            while await !pool.hasFreeSlot { try? await env.clock.sleep(for: .seconds(1)) }
            await Task.yield()  // for example, a condition is evaluated
            await pool.start()
          case .fixed:
            while await !pool.startIfFree() { try? await env.clock.sleep(for: .seconds(1)) }
          }
          try? await env.clock.sleep(for: .seconds(1))
          await pool.end()
        }
      }
    }
    env.check(await pool.most <= pool.limit, "the limit holds")
  }
}
