import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

/// Tests the progress of executions on other machines, which is a part of the local progress tree.
@Suite(.timeLimit(.minutes(10))) struct RemoteProgressTests {
  private let clock = VirtualClock()
  private let engine: LocalEngine
  private let here: ProcedureQueue

  init() {
    engine = LocalEngine(clock: clock)
    here = RemoteWorkerTests.queue(clock)
  }

  /// Returns the fractions that a procedure reports, each once, until the last one.
  private func fractions(_ handle: ProcedureHandle<some Sendable>) -> Record<Double> {
    let record = Record<Double>()
    // The task ends with the run.
    Task { for await progress in handle.progress { record.append(progress.fraction) } }
    return record
  }

  private func wait(_ record: Record<Double>, for fraction: Double) async throws {
    try await eventually { record.values.last == fraction }
  }

  @Test("The reports of two nodes' workers add up to the progress of the graph", .timeLimit(.minutes(10)))
  func graph() async throws {
    let steps = (0..<2).map { _ in AsyncStream<Double>.makeStream() }
    let graph = ProcedureGraph("graph") { (g, _: Node<Void>) in
      let nodes = (0..<2).map { number in
        g.add(double.named("node \(number)").remote(on: engine, as: .double), input: number)
      }
      return g.add(from: nodes)
    }
    let registry = ProcedureRegistry.doubling { number in
      for await fraction in steps[number].stream {
        // One body reports like any procedure, and the other one with a message.
        if number == 0 { ProcedureContext.current?.progress.report(fraction) }
        if number == 1 { RemoteExecution.current?.report(RemoteProgress(fraction, "half")) }
      }
      return number * 2
    }
    let handle = here.add(graph)
    let shown = fractions(handle)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        let worker = RemoteWorkerTests.queue(clock)
        group.addTask {
          try? await RemoteWorker(registry: registry, queue: worker, maxConcurrentCalls: 1).run(from: engine)
        }
      }
      defer { group.cancelAll() }
      // The total consists of the two nodes and of the list of both, each with the weight 1.
      for (number, fraction, sum) in [(0, 0.3, 0.1), (1, 0.6, 0.3), (0, 0.6, 0.4)] {
        steps[number].continuation.yield(fraction)
        while !shown.values.contains(where: { abs($0 - sum) < 0.001 }) {
          // Both workers are waiting for their next heartbeats, and the engine is waiting for both workers.
          try await eventually { clock.sleeperCount >= 3 }
          clock.advance(by: .seconds(10))
        }
      }
      for step in steps { step.continuation.finish() }
      let values = try await handle.value
      #expect(values == [0, 2])
    }
    try await wait(shown, for: 1)
    #expect(shown.values == shown.values.sorted())
  }

  @Test(
    "When another worker starts the work again, the progress stays where the lost worker left it",
    .timeLimit(.minutes(10)))
  func lostWorker() async throws {
    let messages = Record<RemoteProgress>()
    let handle = here.add(double.remote(on: engine, as: .double, onProgress: { messages.append($0) }), input: 4)
    let shown = fractions(handle)
    let lost = try #require(await engine.nextTask())
    _ = try await lost.heartbeat(RemoteProgress(0.6, "rows"))
    try await wait(shown, for: 0.6)
    try await clock.pass(.seconds(30))
    let next = try #require(await engine.nextTask())
    _ = try await next.heartbeat(RemoteProgress(0.1, "rows"))
    // The late report of the lost worker is refused.
    await #expect(throws: RemoteError.self) { try await lost.heartbeat(RemoteProgress(0.9)) }
    _ = try await next.heartbeat(RemoteProgress(nil, "more rows"))
    #expect(here.snapshot().procedures.first?.progress == 0.6)
    _ = try await next.heartbeat(RemoteProgress(0.7))
    try await wait(shown, for: 0.7)
    try await next.end(.finished(Array("8".utf8)))
    #expect(try await handle.value == 8)
    try await wait(shown, for: 1)
    #expect(shown.values == shown.values.sorted())
    #expect(messages.values.map(\.fraction) == [0.6, 0.1, nil, 0.7])
    // No task is waiting any longer.
    await #expect(throws: RemoteError.self) { try await next.heartbeat(RemoteProgress(0.8)) }
  }

  @Test("A report of a worker's body in the same process is also the progress of the caller")
  func localExecutor() async throws {
    let registry = ProcedureRegistry.doubling { [here] number in
      RemoteExecution.current?.report(RemoteProgress(0.5))
      return Int((here.snapshot().procedures.first?.progress ?? 0) * 100) + number
    }
    let call = double.remote(on: LocalExecutor(registry, queue: here), as: .double)
    #expect(try await here.run(call, input: 4) == 54)
  }
}
