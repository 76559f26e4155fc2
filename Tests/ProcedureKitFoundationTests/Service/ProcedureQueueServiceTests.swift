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
}
