import ProcedureKitRemote
import Testing
import TestingProcedureKit

/// Explores requests for calls that are cancelled while calls arrive. If a call were lost, another worker would receive it only after one
/// of its time limits has passed.
@Suite(.timeLimit(.minutes(10))) struct CancelledRequestTests {
  private static let call = RemoteCall(RemoteName("work"), key: RemoteCall.Key(run: "1", node: "work"), input: [])

  @Test("A request takes no call that arrives after the request was cancelled")
  func takesNoLaterCall() async throws {
    try await exploreSchedules(500) { env in
      let (engine, start) = (LocalEngine(clock: env.clock), env.clock.now)
      let request = Task { try await engine.nextTask()?.delivery }
      for _ in 0..<Int.random(in: 0..<3, using: &env.random) { await Task.yield() }
      request.cancel()
      let output = Task { try await engine.execute(Self.call) }
      let task = try env.require(await engine.nextTask())
      try await task.end(.finished([1]))
      let value = try await output.value
      env.check(value == [1])
      env.check(env.clock.now == start && task.delivery == 1, "the cancelled request has taken the call")
      let hasThrown = await request.hasThrownCancellation
      env.check(hasThrown, "the cancelled request has not thrown `CancellationError`")
    }
  }

  @Test("A call wakes another worker if the request that it woke is cancelled at the same time")
  func wakesAnotherWorker() async throws {
    try await exploreRace("taken", "cancelled", schedules: 500) { env in
      let (engine, start) = (LocalEngine(clock: env.clock), env.clock.now)
      let request = Task {
        guard let task = try await engine.nextTask() else { return }
        env.tally("taken")
        try await task.end(.abandoned)
      }
      let worker = Task {
        while let task = try await engine.nextTask() { try await task.end(.finished([1])) }
      }
      let output = Task { try await engine.execute(Self.call) }
      for _ in 0..<Int.random(in: 0..<4, using: &env.random) { await Task.yield() }
      request.cancel()
      let value = try await output.value
      env.check(value == [1])
      env.check(env.clock.now == start, "the call waited although a worker was idle")
      engine.finish()
      try await worker.value
      if case .failure(let error) = await request.result {
        env.check(error is CancellationError, "\(error)")
        env.tally("cancelled")
      }
    }
  }
}

extension Task where Failure == any Error {
  /// Waits until the task ends. Returns whether it has thrown a `CancellationError`.
  fileprivate var hasThrownCancellation: Bool {
    get async {
      switch await result {
      case .success: false
      case .failure(let error): error is CancellationError
      }
    }
  }
}
