import TestingProcedureKit

/// A job whose watchdog treats a slow worker as dead, so the job can end twice.
actor LateTimer: PlantedBug {
  static let needsLateTimers = true

  private(set) var ends = 0

  private func end() { ends += 1 }

  private func endOnce() {
    if ends == 0 { end() }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let job = LateTimer()
    @Sendable func end() async {
      switch version {
      case .broken: await job.end()
      case .fixed: await job.endOnce()
      }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for _ in 0..<10 { await Task.yield() }  // the worker works
        await end()
      }
      group.addTask {
        do { try await env.clock.sleep(for: .seconds(1)) } catch { return }
        await end()
      }
      await group.next()
      group.cancelAll()
    }
    env.check(await job.ends == 1, "the job ends once")
  }
}
