import TestingProcedureKit

/// A result that both a finish and a timeout can set: each checks the result in one visit to the actor, and sets it in another.
actor DoubleResume: PlantedBug {
  private var outcome: String?
  /// The number of times that the waiter would have been resumed. A real continuation would trap the second time.
  private(set) var resumptions = 0

  private var isSettled: Bool { outcome != nil }

  private func settle(_ outcome: String) {
    self.outcome = outcome
    resumptions += 1
  }

  private func settleOnce(_ outcome: String) {
    if self.outcome == nil { settle(outcome) }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let result = DoubleResume()
    @Sendable func end(_ outcome: String) async {
      switch version {
      case .broken:
        guard await !result.isSettled else { return }
        await Task.yield()  // hooks run
        await result.settle(outcome)
      case .fixed: await result.settleOnce(outcome)
      }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for _ in 0..<3 { await Task.yield() }
        await end("finished")
      }
      group.addTask { await end("timed out") }
    }
    env.check(await result.resumptions == 1, "the waiter is resumed once")
  }
}
