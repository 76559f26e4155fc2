import TestSupport
import Testing

@testable import ProcedureKit
@testable import ProcedureKitRemote

@Suite(.timeLimit(.minutes(10))) struct LocalEngineTests {
  private static func call(_ number: Int) -> RemoteCall {
    RemoteCall(RemoteName("work"), key: RemoteCall.Key(run: "\(number)", node: "work"), input: [])
  }

  private final class Object: Sendable {}

  @Test("A call that has ended retains its value, but nothing that belongs to its caller")
  func release() async throws {
    let engine = LocalEngine()
    var object: Object? = Object()
    weak let left = object
    let answer = Task { [object] in
      let call = RemoteCall(RemoteName("work"), key: RemoteCall.Key(run: "1", node: "work"), input: []) { _ in
        _ = object
      }
      return try await engine.execute(call)
    }
    object = nil
    let task = try #require(try await engine.nextTask())
    try await task.end(.finished([1]))
    #expect(try await answer.value == [1])
    // The task of the call may hold its closure for a moment longer.
    try await eventually { left == nil }
    #expect(try await engine.execute(Self.call(1)) == [1])
  }

  @Test("No timer of a call remains when the call ends, whether with a value or by cancellation")
  func timers() async throws {
    let engine = LocalEngine()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        while let task = try await engine.nextTask() {
          _ = try await task.heartbeat(nil)
          try await task.end(.finished([UInt8(task.call.key.run) ?? 0]))
        }
      }
      for number in 0..<100 {
        let output = try await engine.execute(Self.call(number))
        #expect(output == [UInt8(number)])
      }
      engine.finish()
    }
    #expect(engine.timers.count == 0)
    let waiting = Task { try await engine.execute(Self.call(100)) }
    try await eventually { engine.callerCount > 0 }
    let task = try #require(try await engine.nextTask())
    // The timer of the first step may still be about to be cancelled.
    try await eventually { engine.timers.count == 1 }
    waiting.cancel()
    try await eventually { try await task.heartbeat(nil) }
    try await task.end(.cancelled)
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(engine.timers.count == 0)
  }

  @Test(
    "Limits of any length neither trap nor prevent a call from ending",
    arguments: [
      Duration(attoseconds: .min), .seconds(-1), .zero, .nanoseconds(1), .seconds(Int64.max),
      Duration(attoseconds: .max),
    ])
  func extremes(_ duration: Duration) async throws {
    let engine = LocalEngine()
    var registry = ProcedureRegistry()
    registry.register(ProcedureTask<Int, Int>("double") { 2 * $0 }, as: RemoteSignature("double"))
    let known = registry
    let queue = ProcedureQueue("worker", maxConcurrentProcedures: 1)
    async let worker: Void = RemoteWorker(registry: known, queue: queue).run(from: engine)
    for limit in [
      \RemoteLimits.startTimeout, \.heartbeatTimeout, \.executionTimeout, \.connectionTimeout,
    ] as [WritableKeyPath<RemoteLimits, Duration>] {
      // A call each of whose workers immediately counts as lost would never end.
      for deliveries in [Int.min, 1] + (duration > .nanoseconds(1) ? [.max] : []) {
        var limits = RemoteLimits()
        limits[keyPath: limit] = duration
        limits.deliveries = deliveries
        let double = ProcedureTask<Int, Int>("double") { _ in 0 }
          .remote(on: engine, as: RemoteSignature("double"), limits: limits)
        do {
          #expect(try await double(21) == 42)
        } catch {
          #expect(duration <= .nanoseconds(1) && error is RemoteError, "\(error)")
        }
      }
    }
    engine.finish()
    try await worker
    // A due timer counts until its action is called.
    try await eventually { engine.timers.count == 0 }
  }
}
