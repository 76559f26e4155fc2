import TestingProcedureKit

/// Caches that read the system's clock instead of the clock of the schedule.
actor TimeOfDay: PlantedBug {
  private var looks = 0

  private func look() { looks += 1 }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let (cache, start) = (TimeOfDay(), ContinuousClock.now)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<20 {
            let age = version == .broken ? ContinuousClock.now - start : env.elapsed
            // The older the entry, the longer its check.
            for _ in 0..<(age.components.attoseconds / 125_000_000_000 % 16) { await Task.yield() }
            await cache.look()
          }
        }
      }
    }
    env.check(await cache.looks == 40)
  }
}
