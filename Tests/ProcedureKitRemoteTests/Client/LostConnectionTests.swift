import ProcedureKit
import ProcedureKitRemote
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Tests a server that is restarted: every connection breaks, but the server keeps its state.
@Suite(.timeLimit(.minutes(10))) struct LostConnectionTests {
  /// The connection to an engine. A break ends each wait with `connectionLost`. While the connection is broken, nothing reaches the engine.
  final class Line: ProcedureExecutor, RemoteTaskSource {
    private struct State {
      var isBroken = false
      /// The closures that end the waits. A break removes them.
      var waits: [Int: @Sendable () -> Void] = [:]
      var count = 0
    }

    private let engine: LocalEngine
    private let state = Mutex(State())

    init(to engine: LocalEngine) { self.engine = engine }

    func breakDown() {
      let waits = state.withLock { state in
        state.isBroken = true
        defer { state.waits = [:] }
        return state.waits.sorted { $0.key < $1.key }
      }
      for (_, end) in waits { end() }
    }

    func mend() { state.withLock { $0.isBroken = false } }

    func send<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
      let lost = RemoteError(.connectionLost, procedure: RemoteName("double"), reason: "the line is broken")
      let sent = state.withLock { state -> (number: Int, work: Task<R, any Error>)? in
        guard !state.isBroken else { return nil }
        state.count += 1
        let work = Task { try await body() }
        state.waits[state.count] = { work.cancel() }
        return (state.count, work)
      }
      guard let sent else { throw lost }
      let result = await withTaskCancellationHandler {
        await sent.work.result
      } onCancel: {
        sent.work.cancel()
      }
      let isLost = state.withLock { $0.waits.removeValue(forKey: sent.number) == nil }
      guard !isLost else { throw lost }
      return try result.get()
    }

    func execute(_ call: RemoteCall) async throws -> [UInt8] {
      try await send { [engine] in
        let (answers, continuation) = AsyncStream<Result<[UInt8], any Error>>.makeStream()
        // A server does not notice that a caller has gone, so the call stays.
        Task {
          do {
            continuation.yield(.success(try await engine.execute(call)))
          } catch {
            continuation.yield(.failure(error))
          }
          continuation.finish()
        }
        for await answer in answers { return try answer.get() }
        throw CancellationError()
      }
    }

    func nextTask() async throws -> (any RemoteTask)? {
      try await send { [engine] in try await engine.nextTask() }.map { Delivered(task: $0, line: self) }
    }
  }

  struct Delivered: RemoteTask {
    let task: any RemoteTask
    let line: Line

    var call: RemoteCall { task.call }
    var delivery: Int { task.delivery }
    func heartbeat(_ progress: RemoteProgress?) async throws -> Bool {
      try await line.send { try await task.heartbeat(progress) }
    }
    func end(_ outcome: RemoteOutcome) async throws { try await line.send { try await task.end(outcome) } }
  }

  @Test("A restart of the server loses no call, value or work: everything is executed once")
  func restart() async throws {
    let clock = VirtualClock()
    // The engine's time does not pass. If both used one clock, a slow thread would look like a silent worker.
    let line = Line(to: LocalEngine(clock: VirtualClock()))
    let (started, gate) = (Record<Int>(), AsyncStream<Void>.makeStream())
    let registry = ProcedureRegistry.doubling { number in
      started.append(number)
      if number == 1 { for await _ in gate.stream { break } }
      return number * 2
    }
    let queue = RemoteWorkerTests.queue(clock)
    // A slow thread may see the clock move far between two attempts.
    var limits = RemoteLimits()
    limits.connectionTimeout = .seconds(1_000_000)
    let call = double.remote(on: line, as: .double, limits: limits)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        try? await RemoteWorker(registry: registry, queue: RemoteWorkerTests.queue(clock)).run(from: line)
      }
      let first = queue.add(call, input: 1)
      try await started.wait(for: 1)
      line.breakDown()
      // The body ends while the connection is broken, and its answer waits.
      gate.continuation.yield()
      let second = queue.add(call, input: 2)
      try await clock.pass(.seconds(2))
      line.mend()
      // An attempt that failed while the line was broken is repeated after a pause, so time has to pass until both calls have ended.
      try await clock.step { first.state == .finished && second.state == .finished }
      let (earlier, later) = (try await first.value, try await second.value)
      #expect(earlier == 2 && later == 4)
      group.cancelAll()
    }
    #expect(started.values == [1, 2])
  }

  @Test("A connection that breaks at any moment loses no call or value, and everything is executed once")
  func anyMoment() async throws {
    try await exploreSchedules(TestDepth.count(3_000, least: 60)) { env in
      let line = Line(to: LocalEngine(clock: env.clock))
      let started = Record<Int>()
      let registry = ProcedureRegistry.doubling { number in
        started.append(number)
        try await env.clock.sleep(for: .milliseconds(200))
        return number * 2
      }
      let (queue, workers) = (env.makeQueue("here"), env.makeQueue("workers", maxConcurrentProcedures: 2))
      let worker = Task { try await RemoteWorker(registry: registry, queue: workers).run(from: line) }
      let call = double.remote(on: line, as: .double)
      let runs = (1...2).map { queue.add(call, input: $0) }
      if Bool.random(using: &env.random) { try await env.clock.sleep(for: .milliseconds(200)) }
      for _ in 0..<Int.random(in: 0..<30, using: &env.random) { await Task.yield() }
      line.breakDown()
      try await env.clock.sleep(for: .milliseconds(Int.random(in: 1..<3_000, using: &env.random)))
      line.mend()
      for (number, run) in zip(1..., runs) {
        let value = try await run.value
        env.check(value == number * 2)
      }
      env.check(started.values.sorted() == [1, 2], "executed: \(started.values)")
      worker.cancel()
      _ = await worker.result
    }
  }
}

extension VirtualClock {
  /// Moves the clock in parts of the shortest pause until a condition holds, so that every pending attempt is made.
  fileprivate func step(until condition: () -> Bool) async throws {
    // Each step yields 20 times.
    try await eventually(steps: 250_000) {
      advance(by: .milliseconds(50))
      for _ in 0..<20 { await Task.yield() }
      return condition()
    }
  }
}
