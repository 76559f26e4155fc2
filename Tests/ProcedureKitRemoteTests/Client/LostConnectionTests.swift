import ProcedureKit
import ProcedureKitRemote
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

/// Tests a server that is restarted: every connection breaks, but the server keeps its state.
@Suite(.timeLimit(.minutes(10))) struct LostConnectionTests {
  /// The connection to an engine. A break ends each wait with `connectionLost`, and also each call until the connection is restored.
  final class Line: ProcedureExecutor, RemoteTaskSource {
    private struct State {
      var isBroken = false
      var waits: [Int: Task<Void, Never>] = [:]
      var count = 0
    }

    private let engine: LocalEngine
    private let state = Mutex(State())

    init(to engine: LocalEngine) { self.engine = engine }

    func breakDown() {
      let waits = state.withLock { state in
        state.isBroken = true
        return state.waits.values
      }
      for wait in waits { wait.cancel() }
    }

    func mend() { state.withLock { $0.isBroken = false } }

    var waitCount: Int { state.withLock { $0.waits.count } }

    func send<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
      let lost = RemoteError(.connectionLost, procedure: RemoteName("double"), reason: "the line is broken")
      let work = Task { try await body() }
      let number = state.withLock { state -> Int? in
        guard !state.isBroken else { return nil }
        state.count += 1
        state.waits[state.count] = Task {
          await withTaskCancellationHandler {
            _ = await work.result
          } onCancel: {
            work.cancel()
          }
        }
        return state.count
      }
      guard let number else {
        work.cancel()
        throw lost
      }
      let result = await withTaskCancellationHandler {
        await work.result
      } onCancel: {
        work.cancel()
      }
      let isBroken = state.withLock { state in
        state.waits[number] = nil
        return state.isBroken
      }
      guard !isBroken else { throw lost }
      return try result.get()
    }

    func execute(_ call: RemoteCall) async throws -> [UInt8] {
      // A server does not notice that a caller has gone, so the call stays.
      let detached = Task { [engine] in try await engine.execute(call) }
      return try await send {
        try await withTaskCancellationHandler {
          try await detached.value
        } onCancel: {
        }
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
    let call = double.remote(on: line, as: .double)
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
}

extension VirtualClock {
  /// Moves the clock in parts of the shortest pause until a condition holds, so that every pending attempt is made.
  fileprivate func step(until condition: () -> Bool) async throws {
    try await eventually {
      advance(by: .milliseconds(50))
      for _ in 0..<20 { await Task.yield() }
      return condition()
    }
  }
}
