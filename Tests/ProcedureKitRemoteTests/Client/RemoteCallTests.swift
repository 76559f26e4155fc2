import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct RemoteCallTests {
  /// An executor that answers with the errors of a list, one after another, and then with a value.
  struct Scripted: ProcedureExecutor {
    let calls = Record<RemoteCall>()
    let error: @Sendable (Int) -> (any Error)?

    func execute(_ call: RemoteCall) async throws -> [UInt8] {
      calls.append(call)
      if let error = error(calls.values.count) { throw error }
      return Array("7".utf8)
    }
  }

  static let lost = RemoteError(.connectionLost, procedure: RemoteName("double"), reason: "no route")

  @Test(
    "Each call is separate work, a key identifies the same work in each process, and a retry increments the attempt")
  func keys() async throws {
    let executor = Scripted { $0 == 3 ? TestError() : nil }
    let own = double.remote(on: executor)
    _ = try await own(1)
    _ = try await own(1)
    _ = try await double.named("resize/1").remote(on: executor, as: .double) { "order \($0)" }.retry(.immediate)(1)
    let keys = executor.calls.values.map(\.key)
    #expect(keys.count == 4 && Set(keys).count == 4 && keys[0].run != keys[1].run)
    #expect(keys[2] == RemoteCall.Key(run: "order 1", node: "resize/1", attempt: 1) && keys[3].attempt == 2)
    #expect(keys[3].description == "order 1/resize%2F1/2")
    #expect(Set(executor.calls.values.map(\.id)).count == 4)
  }

  struct TestError: Error {}

  @Test("After a lost connection, the same call is sent again, and the value arrives")
  func connectionComesBack() async throws {
    let clock = VirtualClock()
    let executor = Scripted { $0 <= 3 ? Self.lost : nil }
    let run = queue(clock).add(double.remote(on: executor), input: 1)
    for delay in [100, 200, 400] { try await clock.pass(.milliseconds(delay)) }
    #expect(try await run.value == 7)
    #expect(executor.calls.values.count == 4 && Set(executor.calls.values.map(\.id)).count == 1)
  }

  @Test("A connection that stays lost is an error exactly after the limit")
  func connectionStaysLost() async throws {
    let clock = VirtualClock()
    let executor = Scripted { _ in Self.lost }
    var limits = RemoteLimits()
    limits.connectionTimeout = .seconds(1)
    let run = queue(clock).add(double.remote(on: executor, as: .double, limits: limits), input: 1)
    for delay in [100, 200, 400, 300] { try await clock.pass(.milliseconds(delay)) }
    let error = await run.outcome.error(as: RemoteError.self)
    #expect(error == Self.lost && error?.isTransient == true)
    #expect(clock.now == VirtualClock.Instant().advanced(by: .seconds(1)))
  }

  /// An executor whose server accepts connections and never answers: each call ends after its own limit.
  struct Silent: ProcedureExecutor {
    let clock: VirtualClock

    func execute(_ call: RemoteCall) async throws -> [UInt8] {
      try await clock.sleep(for: .seconds(12))
      throw RemoteCallTests.lost
    }
  }

  @Test(
    "A server that accepts connections and never answers is an error after the limit, or after the call's total time"
  )
  func silentServer() async throws {
    var (limits, short) = (RemoteLimits(), RemoteLimits())
    limits.connectionTimeout = .seconds(60)
    // The time is shorter than that of a failing connection, so only the call's total time ends this call.
    (short.connectionTimeout, short.deliveries) = (.seconds(10), 1)
    (short.startTimeout, short.executionTimeout) = (.seconds(100), .seconds(100))
    for (limits, longest) in [(limits, 85), (short, 225)] as [(RemoteLimits, Int)] {
      let clock = VirtualClock()
      let run = queue(clock).add(double.remote(on: Silent(clock: clock), as: .double, limits: limits), input: 1)
      while run.state != .finished, clock.now < VirtualClock.Instant().advanced(by: .seconds(longest)) {
        for _ in 0..<20 { await Task.yield() }
        if let next = clock.nextDeadline { clock.advance(to: next) }
      }
      if run.state != .finished { run.cancel() }
      let outcome = await run.outcome
      #expect(outcome.error(as: RemoteError.self) == Self.lost, "\(outcome)")
    }
  }

  @Test("A cancellation ends the pause before the next attempt")
  func cancelInPause() async throws {
    let clock = VirtualClock()
    let run = queue(clock).add(double.remote(on: Scripted { _ in Self.lost }), input: 1)
    try await clock.nextSleep()
    run.cancel()
    #expect(await run.outcome.isCancelled)
  }

  @Test("A name is read as it was written, even if it contains an @", arguments: ["a@1", "a@b@-2", "@0"])
  func names(_ text: String) {
    #expect(RemoteName(text)?.description == text)
    #expect(RemoteName("a") == nil && RemoteName("a@") == nil && RemoteName("a@b") == nil)
  }

  @Test("A key is read as it was written, and different keys are written differently")
  func keyDescriptions() {
    let parts = ["", "a", "a/b", "a%2Fb", "%", "%25/", "\u{E4}/\u{301}"]
    let keys = parts.flatMap { run in parts.map { RemoteCall.Key(run: run, node: $0, attempt: 3) } }
    for key in keys { #expect(RemoteCall.Key(key.description) == key) }
    #expect(Set(keys.map(\.description)).count == keys.count)
    for text in ["", "a/b", "a/b/c", "a/b/1/2", "%/b/1", "%2f/b/1"] { #expect(RemoteCall.Key(text) == nil) }
  }

  @Test("Progress is a fraction from 0 to 1, or unknown")
  func progress() {
    #expect(RemoteProgress(2).fraction == 1 && RemoteProgress(-1).fraction == 0 && RemoteProgress(.nan).fraction == nil)
  }

  private func queue(_ clock: VirtualClock) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration("here")
    configuration.clock = clock
    return ProcedureQueue(configuration)
  }
}
