import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

/// Tests workers that are lost, stopped and cut off, on a virtual clock.
@Suite(.timeLimit(.minutes(10))) struct RemoteWorkerTests {
  let clock = VirtualClock()
  let engine: LocalEngine
  let here: ProcedureQueue

  init() {
    engine = LocalEngine(clock: clock)
    here = Self.queue(clock)
  }

  static func queue(_ clock: VirtualClock) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("here", maxConcurrentProcedures: 4)
    configuration.clock = clock
    configuration.log = ProcedureLog(to: LogCollector())
    return ProcedureQueue(configuration)
  }

  /// Runs a worker while a body executes.
  func withWorker<R: Sendable>(
    _ registry: ProcedureRegistry = .doubling(), from source: (any RemoteTaskSource)? = nil,
    on workerClock: VirtualClock? = nil,
    _ body: (_ stop: () -> Void) async throws -> R
  ) async throws -> R {
    try await withThrowingTaskGroup(of: Void.self) { group in
      let (queue, source) = (Self.queue(workerClock ?? clock), source ?? engine)
      group.addTask { try? await RemoteWorker(registry: registry, queue: queue).run(from: source) }
      defer { group.cancelAll() }
      return try await body { group.cancelAll() }
    }
  }

  /// The calls of an engine, with a record of the heartbeats that have arrived.
  struct HeartbeatCounter: RemoteTaskSource {
    struct Counted: RemoteTask {
      let task: any RemoteTask
      let heartbeats: Record<Int>

      var call: RemoteCall { task.call }
      var delivery: Int { task.delivery }

      func heartbeat(_ progress: RemoteProgress?) async throws -> Bool {
        let isCancelled = try await task.heartbeat(progress)
        heartbeats.append(task.delivery)
        return isCancelled
      }

      func end(_ outcome: RemoteOutcome) async throws { try await task.end(outcome) }
    }

    let engine: LocalEngine
    let heartbeats: Record<Int>

    init(_ engine: LocalEngine, _ heartbeats: Record<Int>) { (self.engine, self.heartbeats) = (engine, heartbeats) }

    func nextTask() async throws -> (any RemoteTask)? {
      try await engine.nextTask().map { Counted(task: $0, heartbeats: heartbeats) }
    }
  }

  var call: ProcedureTask<Int, Int> { double.remote(on: engine, as: .double) }

  @Test("Workers share many calls, and each call has its value")
  func many() async throws {
    let engine = LocalEngine(clock: VirtualClock())
    let call = double.remote(on: engine, as: .double)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          try await RemoteWorker(registry: .doubling(), queue: .shared, maxConcurrentCalls: 2).run(from: engine)
        }
      }
      let runs = (0..<200).map { here.add(call, input: $0) }
      for (number, run) in runs.enumerated() { #expect(try await run.value == number * 2) }
      engine.finish()
      try await group.waitForAll()
    }
  }

  @Test("A lost worker is noticed after the heartbeat timeout, and another one executes the call under the same key")
  func lostWorker() async throws {
    let executions = Record<(Int, RemoteCall.Key)>()
    let run = here.add(call, input: 4)
    let lost = try #require(await engine.nextTask())
    try await clock.pass(.seconds(30))
    let registry = ProcedureRegistry.doubling { number in
      if let execution = RemoteExecution.current { executions.append((execution.delivery, execution.key)) }
      return number * 2
    }
    try await withWorker(registry) { _ in
      let value = try await run.value
      #expect(value == 8)
    }
    #expect(executions.values.map(\.0) == [2] && executions.values.map(\.1) == [lost.call.key])
  }

  @Test("A stopped worker that returns is refused, and the value of its successor is used")
  func stoppedWorker() async throws {
    let run = here.add(call, input: 4)
    let stopped = try #require(await engine.nextTask())
    try await clock.pass(.seconds(30))
    let next = try #require(await engine.nextTask())
    for _ in 0..<2 {
      await expectSuperseded { _ = try await stopped.heartbeat(nil) }
      await expectSuperseded { try await stopped.end(.finished(Array("1".utf8))) }
    }
    #expect(try await next.heartbeat(nil) == false)
    try await next.end(.finished(Array("8".utf8)))
    #expect(try await run.value == 8)
    await expectSuperseded { try await next.end(.finished(Array("9".utf8))) }
  }

  private func expectSuperseded(_ body: @Sendable () async throws -> Void) async {
    let error = await #expect(throws: RemoteError.self) { try await body() }
    #expect(error?.kind == .superseded)
  }

  /// A call that belongs to another worker as soon as its body executes, and a record of its answers.
  struct Superseded: RemoteTask, RemoteTaskSource {
    let task: any RemoteTask
    let isGiven = Record<Int>()
    let answers = Record<RemoteOutcome>()

    var call: RemoteCall { task.call }
    var delivery: Int { task.delivery }

    func nextTask() async throws -> (any RemoteTask)? {
      guard isGiven.values.isEmpty else { return nil }
      isGiven.append(1)
      return self
    }

    func heartbeat(_ progress: RemoteProgress?) async throws -> Bool {
      throw RemoteError(.superseded, procedure: call.procedure, reason: "another worker has the call")
    }

    func end(_ outcome: RemoteOutcome) async throws { answers.append(outcome) }
  }

  @Test("A worker that learns from a heartbeat that another one has the call cancels the body, and sends no answer")
  func superseded() async throws {
    let run = here.add(call, input: 4)
    let source = Superseded(task: try #require(await engine.nextTask()))
    let (started, ended) = (Record<Int>(), Record<Int>())
    let registry = ProcedureRegistry.doubling { number in
      started.append(number)
      defer { ended.append(number) }
      try await throwOnceCancelled()
      return number
    }
    let worker = Task {
      try await RemoteWorker(registry: registry, queue: Self.queue(clock), maxConcurrentCalls: 1).run(from: source)
    }
    try await started.wait(for: 1)
    try await clock.pass(.seconds(10))
    try await worker.value
    #expect(ended.values == [4])
    #expect(source.answers.values == [])
    run.cancel()
    try await source.task.end(.finished(Array("8".utf8)))
    _ = await run.outcome
  }

  @Test("When the last worker is lost, the call fails after one heartbeat timeout for each worker")
  func allLost() async throws {
    let run = here.add(call, input: 4)
    for _ in 0..<3 {
      _ = try #require(await engine.nextTask())
      try await clock.pass(.seconds(30))
    }
    #expect(await run.outcome.error(as: RemoteError.self)?.kind == .workerLost)
    #expect(clock.now == VirtualClock.Instant().advanced(by: .seconds(90)))
  }

  @Test("A call that no worker takes fails after the start timeout")
  func noWorker() async throws {
    let run = here.add(call, input: 4)
    try await clock.pass(.seconds(600))
    #expect(await run.outcome.error(as: RemoteError.self)?.kind == .noWorker)
  }

  @Test("A worker that is alive but takes too long is given up, and its heartbeat is refused")
  func tooLong() async throws {
    var limits = RemoteLimits()
    limits.executionTimeout = .seconds(45)
    let run = here.add(double.remote(on: engine, as: .double, limits: limits), input: 4)
    let task = try #require(await engine.nextTask())
    for _ in 0..<2 {
      clock.advance(by: .seconds(20))
      #expect(try await task.heartbeat(nil) == false)
    }
    try await clock.pass(.seconds(5))
    #expect(await run.outcome.error(as: RemoteError.self)?.kind == .executionTimedOut)
    await expectSuperseded { _ = try await task.heartbeat(nil) }
  }

  @Test("A worker that works for hours keeps its call through heartbeats")
  func longWork() async throws {
    let (started, gate) = (Record<Int>(), AsyncStream<Void>.makeStream())
    let registry = ProcedureRegistry.doubling { number in
      started.append(number)
      for await _ in gate.stream { break }
      return number * 2
    }
    let (heartbeats, workerClock) = (Record<Int>(), VirtualClock())
    let run = here.add(call, input: 4)
    try await withWorker(registry, from: HeartbeatCounter(engine, heartbeats), on: workerClock) { _ in
      try await started.wait(for: 1)
      // The engine's time passes when the heartbeat has arrived. If both used one clock, a slow thread would look like a silent worker.
      for number in 1...50 {
        try await workerClock.pass(.seconds(10))
        try await heartbeats.wait(for: number)
        clock.advance(by: .seconds(10))
      }
      gate.continuation.yield()
      let value = try await run.value
      #expect(value == 8)
    }
    #expect(started.values.count == 1)
  }

  @Test("A cancellation reaches the body with the next heartbeat, and the call ends when the body ends")
  func cancelled() async throws {
    let (started, ended) = (Record<Int>(), Record<Int>())
    let registry = ProcedureRegistry.doubling { number in
      started.append(number)
      defer { ended.append(number) }
      try await throwOnceCancelled()
      return number
    }
    let run = here.add(call, input: 4)
    try await withWorker(registry) { _ in
      try await started.wait(for: 1)
      run.cancel()
      try await clock.pass(.seconds(10))
      #expect(await run.outcome.isCancelled)
      #expect(ended.values == [4])
    }
  }

  @Test("A worker that does not react to a cancellation delays the caller only for the heartbeat timeout")
  func cancelledInVain() async throws {
    let run = here.add(call, input: 4)
    let task = try #require(await engine.nextTask())
    run.cancel()
    try await eventually { try await task.heartbeat(nil) }
    try await clock.pass(.seconds(30))
    #expect(await run.outcome.isCancelled)
  }

  @Test("A call that is cancelled while it is waiting is not delivered to any worker")
  func cancelledBefore() async throws {
    let run = here.add(call, input: 4)
    try await clock.nextSleep()
    run.cancel()
    #expect(await run.outcome.isCancelled)
    engine.finish()
    #expect(try await engine.nextTask() == nil)
  }

  @Test("A worker that is stopped returns its call, and another worker executes the call immediately")
  func stops() async throws {
    let (started, values) = (Record<Int>(), Record<Int>())
    let run = here.add(call, input: 4)
    let slow = ProcedureRegistry.doubling { number in
      started.append(number)
      try await throwOnceCancelled()
      return number
    }
    try await withWorker(slow) { stop in
      try await started.wait(for: 1)
      stop()
    }
    try await withWorker { _ in values.append(try await run.value) }
    #expect(values.values == [8])
  }

  @Test("The progress of a body arrives with the heartbeats, each value once")
  func progress() async throws {
    let (reported, started, gate) = (Record<RemoteProgress>(), Record<Int>(), AsyncStream<Void>.makeStream())
    let registry = ProcedureRegistry.doubling { number in
      RemoteExecution.current?.report(RemoteProgress(0.5, "half"))
      started.append(number)
      for await _ in gate.stream { break }
      return number * 2
    }
    let run = here.add(double.remote(on: engine, as: .double, onProgress: { reported.append($0) }), input: 4)
    try await withWorker(registry) { _ in
      try await started.wait(for: 1)
      for _ in 0..<3 { try await clock.pass(.seconds(10)) }
      try await reported.wait(for: 1)
      gate.continuation.yield()
      let value = try await run.value
      #expect(value == 8)
    }
    #expect(reported.values == [RemoteProgress(0.5, "half")])
  }

  @Test("A heartbeat that is sent while a body reports progress has the message that belongs to the fraction")
  func messages() async throws {
    let (reported, workerClock) = (Record<RemoteProgress>(), VirtualClock())
    let registry = ProcedureRegistry.doubling { number in
      for step in 1...1_000 {
        RemoteExecution.current?.report(RemoteProgress(Double(step) / 1_000, "\(step)"))
        if step.isMultiple(of: 10) { await Task.yield() }
      }
      return number * 2
    }
    let run = here.add(double.remote(on: engine, as: .double, onProgress: { reported.append($0) }), input: 4)
    try await withWorker(registry, on: workerClock) { _ in
      try await eventually {
        workerClock.advance(by: .seconds(10))
        return run.state == .finished
      }
      let value = try await run.value
      #expect(value == 8)
    }
    for progress in reported.values {
      #expect(progress.fraction.map { "\(Int(($0 * 1_000).rounded()))" } == progress.message)
    }
  }

  @Test(
    "Calls with the same key share one execution, a later call gets its value, and other work with the key is an error")
  func sameKey() async throws {
    let executions = Record<Int>()
    let named = double.remote(on: engine, as: .double) { "work \($0 % 10)" }
    let runs = [here.add(named, input: 4), here.add(named, input: 4)]
    let registry = ProcedureRegistry.doubling { number in
      executions.append(number)
      return number * 2
    }
    try await withWorker(registry) { _ in
      let values = try await [runs[0].value, runs[1].value, here.run(named, input: 4)]
      #expect(values == [8, 8, 8])
    }
    #expect(executions.values == [4])
    let other = await #expect(throws: RemoteError.self) { try await here.run(named, input: 14) }
    #expect(other?.kind == .keyReused)
  }

  @Test("Cancelling one of two callers of an execution does not affect the other")
  func oneOfTwo() async throws {
    let named = double.remote(on: engine, as: .double) { "work \($0)" }
    let runs = [here.add(named, input: 4), here.add(named, input: 4)]
    let task = try #require(await engine.nextTask())
    try await eventually { engine.callerCount >= 2 }
    runs[0].cancel()
    #expect(await runs[0].outcome.isCancelled)
    #expect(try await task.heartbeat(nil) == false)
    try await task.end(.finished(Array("8".utf8)))
    #expect(try await runs[1].value == 8)
  }

  @Test("A failure is kept for its call, and another call with the key executes the work again")
  func failedKey() async throws {
    let executions = Record<Int>()
    let named = double.remote(on: engine, as: .double) { "work \($0)" }
    let registry = ProcedureRegistry.doubling { number in
      executions.append(number)
      guard executions.values.count > 1 else { throw ResizeError.tooLarge(number) }
      return number * 2
    }
    try await withWorker(registry) { _ in
      await #expect(throws: ResizeError.tooLarge(4)) { try await here.run(named, input: 4) }
      let value = try await here.run(named, input: 4)
      #expect(value == 8)
    }
  }
}
