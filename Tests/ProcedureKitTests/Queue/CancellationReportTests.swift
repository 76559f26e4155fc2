import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The reports of `shutDown(grace:)` and `cancelWaiting(_:)`.
@Suite(.timeLimit(.minutes(10))) struct CancellationReportTests {
  private typealias Report = ProcedureQueue.CancellationReport
  private let clock = VirtualClock()

  private func makeQueue(_ width: Int = .max) -> ProcedureQueue {
    ProcedureQueue("q", maxConcurrentProcedures: width, clock: clock)
  }

  /// A procedure that is cancelled while it executes; its body has started when the function returns.
  private func addStuck(_ name: String = "stuck", to queue: ProcedureQueue) async -> ProcedureHandle<Void> {
    let started = Signal()
    let handle = queue.add(
      ProcedureTask(name) {
        started.set()
        await untilCancelled()
      })
    await started.wait()
    return handle
  }

  @Test("The report lists what was waiting and what was executing at the end of the grace period, with keys")
  func lists() async throws {
    let queue = makeQueue(1)
    let stuck = await addStuck(to: queue)
    let waiting = queue.add(ProcedureTask("waiting") {}.keyed(by: "acme"))
    let pending = queue.add(ProcedureTask("pending") {}, after: [stuck])
    let delayed = queue.add(ProcedureTask("delayed") {}.delay(.seconds(60)))
    async let end = queue.shutDown(grace: .seconds(10))
    try await eventually { clock.nextDeadline == VirtualClock.Instant().advanced(by: .seconds(10)) }
    clock.advance(by: .seconds(10))
    let report = await end
    #expect(
      report.notStarted == [
        .init(procedure: waiting.identity, key: "acme"), .init(procedure: pending.identity),
        .init(procedure: delayed.identity),
      ])
    #expect(report.interrupted == [.init(procedure: stuck.identity)])
    #expect("\(report)" == "3 procedures not started, 1 procedure interrupted" && !report.isEmpty)
  }

  @Test("Without a cancellation, the report is empty: the procedures finish, fail, or were already cancelled")
  func empty() async throws {
    let queue = makeQueue(1)
    let release = Signal()
    let quick = queue.add(ProcedureTask { await release.wait() })
    let failing = queue.add(ProcedureTask<Void, Void>("failing") { throw TestError() })
    let cancelled = queue.add(ProcedureTask("cancelled") {})
    cancelled.cancel(TestError(code: 1))
    async let patient = queue.shutDown()
    async let end = queue.shutDown(grace: .seconds(10))
    try await clock.nextSleep()
    release.set()
    #expect(await end.isEmpty)
    #expect(await patient == Report())
    #expect(await quick.outcome.isFinished)
    #expect(await failing.outcome.isFailed)
    #expect(await cancelled.outcome.isCancelled)
  }

  @Test(
    "A procedure that was cancelled during the grace period is not reported, even if it ignores the cancellation until the end"
  )
  func earlierCancellation() async throws {
    let queue = makeQueue()
    let (started, release) = (Signal(), Signal())
    let stubborn = queue.add(
      ProcedureTask("stubborn") {
        started.set()
        await release.wait()
      })
    await started.wait()
    async let end = queue.shutDown(grace: .seconds(10))
    try await clock.nextSleep()
    stubborn.cancel(TestError(code: 1))
    let stuck = queue.snapshot().procedures.map(\.procedure.name)
    clock.advance(by: .seconds(10))
    release.set()
    #expect(await end.isEmpty && stuck == ["stubborn"])
  }

  @Test("A pause between two attempts, and a wait for a rate limiter, count as interrupted")
  func pauses() async throws {
    let queue = makeQueue()
    let limiter = RateLimiter(1, per: .seconds(100), clock: clock)
    try await queue.run(ProcedureTask {}.rateLimited(limiter))
    let limited = queue.add(ProcedureTask("limited") {}.rateLimited(limiter))
    let retrying = queue.add(ProcedureTask("retrying") { throw TestError() }.retry(.constant(.seconds(100))))
    try await eventually { limited.state == .pausing && retrying.state == .pausing }
    let report = await queue.shutDown(grace: .zero)
    #expect(report.notStarted.isEmpty && report.interrupted.map(\.procedure) == [limited.identity, retrying.identity])
  }

  @Test("Nodes, children and nested calls belong to their body, and a call from a body of another queue does not")
  func parts() async throws {
    let (queue, other) = (makeQueue(2), makeQueue())
    let isBusy = Signal()
    let graph = queue.add(
      ProcedureGraph("graph", returning: Void.self) { g in
        let first = g.add("first") { await untilCancelled() }
        g.add(ProcedureTask("second") {}.exclusive("CancellationReportTests"), after: [first])
      })
    let body = queue.add(
      ProcedureTask("body") {
        ProcedureContext.current?.produce(ProcedureTask("child") { await untilCancelled() })
        isBusy.set()
        try await queue.run(ProcedureTask("nested") { await untilCancelled() })
      })
    await isBusy.wait()
    try await eventually {
      queue.snapshot().procedures.contains { $0.procedure.name == "first" && $0.state == .executing }
    }
    let guest = other.add(ProcedureTask("guest") { try await queue.run(ProcedureTask("call") {}) })
    try await eventually { queue.snapshot().procedures.contains { $0.procedure.name == "call" } }
    let report = await queue.shutDown(grace: .zero)
    #expect(Set(report.interrupted.map(\.procedure)) == [graph.identity, body.identity])
    #expect(report.notStarted.map(\.procedure.name) == ["call"])
    #expect(await guest.outcome.isFailed)
  }

  @Test("A procedure that a body adds after the grace period is reported as not started, with the reason of the others")
  func addedLater() async throws {
    let queue = makeQueue()
    let (started, later) = (Signal(), Box(ProcedureHandle<Void>?.none))
    let stubborn = queue.add(
      ProcedureTask("stubborn") {
        started.set()
        await untilCancelled()
        let handle = queue.add(ProcedureTask("later") { await untilCancelled() })
        later.update { $0 = handle }
      })
    await started.wait()
    let report = await queue.shutDown(grace: .zero)
    let handle = try #require(later.value)
    #expect(
      report
        == Report(notStarted: [.init(procedure: handle.identity)], interrupted: [.init(procedure: stubborn.identity)]))
    let outcome = await handle.outcome
    guard case .cancelled(let reason as ProcedureError) = outcome else {
      return #expect(Bool(false), "\(outcome)")
    }
    #expect(reason.kind == .queueShutDown && reason.procedure == handle.identity && reason.queue == "q")
    #expect("\(reason)" == "\(handle.identity) was cancelled: the queue \"q\" was shut down")
  }

  @Test("Each of several calls reports what any of them cancelled, and so does a later one")
  func severalCalls() async throws {
    let queue = makeQueue()
    let stuck = await addStuck(to: queue)
    async let patient = queue.shutDown()
    async let long = queue.shutDown(grace: .seconds(100))
    try await clock.nextSleep()
    let short = await queue.shutDown(grace: .zero)
    #expect(short == Report(interrupted: [.init(procedure: stuck.identity)]))
    #expect(await [patient, long, queue.shutDown()] == [short, short, short])
  }

  @Test("A body that shuts its own queue down receives the report, in which it is not listed itself")
  func ownBody() async throws {
    let queue = makeQueue()
    let stuck = await addStuck(to: queue)
    let report = try await queue.run(ProcedureTask("body") { await queue.shutDown(grace: .zero) })
    #expect(report == Report(interrupted: [.init(procedure: stuck.identity)]))
  }

  @Test("A scope that cancels its procedures after a failure does not report them as cancelled by the shutdown")
  func failFast() async throws {
    let report = Box(Report?.none)
    await #expect(throws: TestError()) {
      try await withProcedureQueue(maxConcurrentProcedures: 2) { queue in
        let stuck = queue.add(ProcedureTask("stuck") { await untilCancelled() })
        queue.add(ProcedureTask<Void, Void>("failing") { throw TestError() })
        _ = await stuck.outcome
        let empty = await queue.shutDown(grace: .zero)
        report.update { $0 = empty }
      }
    }
    #expect(report.value == Report())
  }

  @Test("cancelWaiting reports what it cancels, and a later shutdown does not report it again")
  func waiting() async throws {
    let queue = makeQueue(1)
    let retrying = queue.add(ProcedureTask("retrying") { throw TestError() }.retry(.constant(.seconds(100))))
    try await eventually { retrying.state == .pausing }
    let stuck = await addStuck(to: queue)
    let ready = queue.add(ProcedureTask("ready") {}.keyed(by: 7))
    let cancelled = queue.add(ProcedureTask("cancelled") {})
    cancelled.cancel()
    let report = queue.cancelWaiting(TestError(code: 1))
    #expect(report.notStarted == [.init(procedure: ready.identity, key: "7")])
    #expect(report.interrupted == [.init(procedure: retrying.identity)])
    #expect(queue.cancelWaiting().isEmpty)
    #expect(await queue.shutDown(grace: .zero) == Report(interrupted: [.init(procedure: stuck.identity)]))
  }
}
