import ProcedureKit
import ProcedureKitRemote
import Testing
import TestingProcedureKit

/// Tests calls that an engine or a worker refuses. Each call ends immediately, according to the clock, with an error that gives the reason.
@Suite(.timeLimit(.minutes(10))) struct RemoteRefusalTests {
  private typealias Repeat = RemoteSignature<String, String>
  private let clock = VirtualClock()

  /// Returns the error of a call that is executed by a worker of an engine with a limit of 10,000 bytes.
  private func error(of signature: Repeat, _ input: String) async throws -> RemoteError? {
    let engine = LocalEngine(payloadLimit: 10_000, clock: clock)
    var registry = ProcedureRegistry()
    registry.register(
      ProcedureTask<String, String>("repeat") { String(repeating: $0, count: 5_000) }, as: Repeat("repeat", version: 2))
    let (call, right) = (Self.call(signature, engine), Self.call(Repeat("repeat", version: 2), engine))
    return try await withThrowingTaskGroup(of: Void.self) { [registry] group in
      let worker = RemoteWorkerTests.queue(clock)
      group.addTask { try? await RemoteWorker(registry: registry, queue: worker).run(from: engine) }
      defer { group.cancelAll() }
      let here = RemoteWorkerTests.queue(clock)
      let value = try await here.run(right, input: "a")
      #expect(value.count == 5_000)
      let error = await #expect(throws: RemoteError.self) { try await here.run(call, input: input) }
      #expect(clock.now == VirtualClock.Instant())
      return error
    }
  }

  private static func call(_ signature: Repeat, _ engine: LocalEngine) -> ProcedureTask<String, String> {
    ProcedureTask<String, String>("call") { $0 }.remote(on: engine, as: signature)
  }

  @Test("An input that is too large is refused before it is sent, and a value before it is returned")
  func sizes() async throws {
    let cases = [
      (String(repeating: "a", count: 9_999), "input is 10001 bytes long"), ("abc", "value is 15002 bytes long"),
    ]
    for (input, payload) in cases {
      let error = try await error(of: Repeat("repeat", version: 2), input)
      #expect(error?.kind == .payloadTooLarge && error?.isTransient == false)
      #expect(error?.reason.contains(payload) == true, "\(error?.reason ?? "")")
    }
  }

  @Test("A worker refuses a procedure or a version that it does not have")
  func names() async throws {
    let unknown = try await error(of: Repeat("echo"), "a")
    #expect(unknown?.kind == .unknownProcedure && unknown?.reason.contains("registered: repeat") == true)
    let wrong = try await error(of: Repeat("repeat", version: 3), "a")
    #expect(wrong?.kind == .wrongVersion && wrong?.reason.contains("only other versions of the procedure: 2") == true)
  }
}
