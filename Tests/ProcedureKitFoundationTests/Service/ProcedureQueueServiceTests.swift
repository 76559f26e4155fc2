import ProcedureKit
import ProcedureKitFoundation
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct ProcedureQueueServiceTests {
  private let shutdowns: AsyncStream<Never>
  private let shutdown: AsyncStream<Never>.Continuation
  private let clock = VirtualClock()
  private let queue: ProcedureQueue

  init() {
    (shutdowns, shutdown) = AsyncStream.makeStream()
    var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 1)
    configuration.clock = clock
    queue = ProcedureQueue(configuration)
  }

  private func service(grace: Duration?) -> ProcedureQueueService {
    ProcedureQueueService(queue, grace: grace) { [shutdowns] in
      for await _ in shutdowns {}
      try Task.checkCancellation()
    }
  }

  /// Returns a procedure that executes until it is cancelled, or until the probe is finished.
  private func startedProbe() async throws -> (ProbeProcedure<Void, Int>, ProcedureHandle<Int>) {
    let probe = ProbeProcedure<Void, Int>("job")
    let handle = queue.add(probe)
    try await probe.waitUntilStarted()
    return (probe, handle)
  }

  @Test("After the shutdown, no procedure is admitted, and admitted procedures are executed")
  func draining() async throws {
    let (probe, handle) = try await startedProbe()
    let waiting = queue.add(ProcedureTask { 2 })
    async let run: Void = service(grace: nil).run()
    shutdown.finish()
    try await eventually { queue.snapshot().isShutDown }
    probe.finish(1)
    try await run
    #expect(await handle.outcome.isFinished(1))
    #expect(await waiting.outcome.isFinished(2))
    #expect(await queue.add(ProcedureTask {}).outcome.procedureError?.kind == .queueShutDown)
  }

  @Test("After the grace period, the remaining procedures are cancelled")
  func grace() async throws {
    let (_, handle) = try await startedProbe()
    async let run: Void = service(grace: .seconds(20)).run()
    shutdown.finish()
    _ = try await clock.nextSleep()
    clock.advance(by: .seconds(20))
    try await run
    #expect(await handle.outcome.isCancelled)
  }

  @Test(
    "A cancellation cancels all procedures, both before the shutdown and during the grace period",
    arguments: [true, false])
  func cancel(isBefore: Bool) async throws {
    let (_, handle) = try await startedProbe()
    let run = Task { try await service(grace: .seconds(20)).run() }
    if !isBefore {
      shutdown.finish()
      _ = try await clock.nextSleep()
    }
    run.cancel()
    let result = await run.result
    #expect(isBefore == ((try? result.get()) == nil))
    #expect(await handle.outcome.isCancelled)
  }

  @Test(
    "The report of the shutdown is passed on, after a grace period and after a cancellation", arguments: [true, false])
  func report(isCancelled: Bool) async throws {
    let (_, stuck) = try await startedProbe()
    let waiting = queue.add(ProcedureTask("waiting") {}.keyed(by: "acme"))
    let (reports, report) = AsyncStream.makeStream(of: ProcedureQueue.CancellationReport.self)
    let service = ProcedureQueueService(
      queue, grace: .seconds(20), until: { [shutdowns] in for await _ in shutdowns {} },
      onShutDown: {
        report.yield($0)
        report.finish()
      })
    let run = Task { try await service.run() }
    shutdown.finish()
    _ = try await clock.nextSleep()
    if isCancelled { run.cancel() } else { clock.advance(by: .seconds(20)) }
    try await run.value
    let expected = ProcedureQueue.CancellationReport(
      notStarted: [.init(procedure: waiting.identity, key: "acme")], interrupted: [.init(procedure: stuck.identity)])
    #expect(await reports.reduce(into: []) { $0.append($1) } == [expected])
  }

  @Test(
    "An error while waiting for the shutdown shuts the queue down, and an error of the report's receiver ends the run")
  func errors() async throws {
    struct Lost: Error {}
    struct Full: Error {}
    let (_, stuck) = try await startedProbe()
    let interrupted = Record<String>()
    let service = ProcedureQueueService(
      queue, until: { throw Lost() },
      onShutDown: { report in
        for entry in report.interrupted { interrupted.append(entry.procedure.name) }
      })
    await #expect(throws: Lost.self) { try await service.run() }
    #expect(interrupted.values == ["job"])
    #expect(await stuck.outcome.isCancelled)
    let failing = ProcedureQueueService(queue, until: {}, onShutDown: { _ in throw Full() })
    await #expect(throws: Full.self) { try await failing.run() }
  }
}
