import ProcedureKit
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

@Suite("Rule R4: claims of descendants and of inner layers", .timeLimit(.minutes(10)))
struct NestedClaimRuleTests {
  @Test("R4: a claim that is refused after a pause does not receive a later grant")
  func refusedAfterPause() async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock, resources: ResourceTable())
    let limiter = RateLimiter(1, per: .seconds(10), burst: 1, clock: clock)
    try await queue.run(ProcedureTask {}.rateLimited(limiter))
    // The limiter makes the attempt pause, which releases the resource. Then b acquires the resource and waits for a.
    let a = queue.add(
      ProcedureTask("a") {}.rateLimited(limiter).retry(.constant(.seconds(1)), maxAttempts: 2).exclusive("x"))
    try await clock.nextSleep()
    let b = queue.add(ProcedureTask("b") { _ = await a.outcome }.exclusive("x"))
    try await eventually { b.state == .executing }
    try await eventually {
      if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
      return a.state == .finished
    }
    #expect(await a.outcome.error(as: ProcedureError.self)?.kind == .exclusionDeadlock)
    #expect(await b.outcome.isFinished)
  }

  @Test(
    "R4: a layer that pauses reacquires its resource, even if a child claims the same category",
    arguments: [false, true])
  func pauseBesideChild(isRetry: Bool) async throws {
    let clock = VirtualClock()
    let queue = ProcedureQueue("q", clock: clock, resources: ResourceTable())
    let release = Signal()
    let count = Atomic(0)
    let body = ProcedureTask("body") {
      if count.add(1, ordering: .relaxed).newValue == 1, isRetry { throw TestError(code: 1) }
    }
    let startChild: @Sendable () async throws -> Void = {
      guard count.load(ordering: .relaxed) == 1 else { return }
      let child = ProcedureContext.current?.produce(ProcedureTask("child") { await release.wait() }.exclusive("x"))
      try await eventually { child?.state == .executing }
    }
    let retrying = body.retry(.constant(.seconds(1)), maxAttempts: 3) { _, _ in
      try? await startChild()
      return .retry
    }
    let repeating = body.repeating(.constant(.seconds(1)), maxCount: 3) { _ in
      try? await startChild()
      return true
    }
    let handle = queue.add(isRetry ? retrying.exclusive("x") : repeating.exclusive("x"))
    try await eventually {
      if clock.sleeperCount > 0 { clock.advance(by: .seconds(1)) }
      if count.load(ordering: .relaxed) >= 2 { release.set() }
      return handle.state == .finished
    }
    #expect(await handle.outcome.isFinished)
    #expect(count.load(ordering: .relaxed) == (isRetry ? 2 : 3))
  }

  @Test("R4: the cost of a claim by an inner layer does not depend on the number of waiting runs")
  func innerClaims() async throws {
    func costOfEach(among count: Int) async throws -> Duration {
      let executor = MeteredExecutor()
      let queue = ProcedureQueue("q", executor: executor, resources: ResourceTable())
      let (started, release) = (Signal(), Signal())
      let holder = queue.add(
        ProcedureTask("holder") {
          started.set()
          await release.wait()
        }.exclusive("x"))
      await started.wait()
      let inner = ProcedureTask("inner") {}.exclusive("x").map {}
      var handles: [ProcedureHandle<Void>] = []
      let adding = ProcessorTime.measure { handles = (0..<count).map { _ in queue.add(inner) } }
      release.set()
      for handle in handles { try await handle.value }
      try await holder.value
      return (adding + executor.processorTime) / count
    }
    // If each claim searched all waiting runs, a claim among many would cost twenty times as much.
    let (few, many) = (try await costOfEach(among: 200), try await costOfEach(among: 4_000))
    #expect(many < few * 8)
  }
}
