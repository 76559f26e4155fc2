import TestingProcedureKit

/// A procedure that is finished before its value is available.
///
/// Invariant: only `finish` resumes the continuations in `waiters`, and it removes all of them.
actor FinishBeforeValue: PlantedBug {
  private var isFinished = false
  private var value: Int?
  private var waiters: [UnsafeContinuation<Void, Never>] = []

  private func store(_ value: Int) {
    self.value = value
  }

  private func finish() {
    isFinished = true
    for waiter in waiters { waiter.resume() }
    waiters = []
  }

  private func waitUntilFinished() async {
    if !isFinished { await withUnsafeContinuation { waiters.append($0) } }
  }

  static func scenario(_ version: Version, _ env: ExplorationEnvironment) async throws {
    let procedure = FinishBeforeValue()
    async let execution: Void = {
      switch version {
      case .broken:
        await procedure.finish()
        await Task.yield()  // observers are notified
        await procedure.store(42)
      case .fixed:
        await procedure.store(42)
        await Task.yield()
        await procedure.finish()
      }
    }()
    await procedure.waitUntilFinished()
    env.check(await procedure.value == 42, "an observer of the finish sees the value")
    await execution
  }
}
