import Foundation
import ProcedureKit
import ProcedureKitRemote
import TestSupport
import Testing
import TestingProcedureKit

@Suite(.timeLimit(.minutes(10))) struct LocalExecutorTests {
  @Test("The nodes of a graph are executed elsewhere, and their values are returned")
  func graph() async throws {
    let executor = LocalExecutor(.doubling())
    let graph = ProcedureGraph("elsewhere") { (g, number: Node<Int>) in
      let one = g.add(double.remote(on: executor, as: .double), from: number)
      let other = g.add(double.remote(on: executor, as: .double), from: one)
      return g.add("sum", from: one, other) { $0 + $1 }
    }
    #expect(try await ProcedureQueue("here").run(graph, input: 7) == 42)
  }

  @Test("Without a signature, a procedure keeps its name, and is called with this name and version 1")
  func name() async throws {
    var registry = ProcedureRegistry()
    registry.register(ProcedureTask<Int, Int>("half") { $0 / 2 }, as: RemoteSignature("double"))
    let remote = double.remote(on: LocalExecutor(registry))
    #expect(remote.name == "double")
    #expect(try await remote(6) == 3)
  }

  @Test("Procedures without an input or a value are also executed elsewhere")
  func void() async throws {
    let calls = Record<String>()
    var registry = ProcedureRegistry()
    let (get, put, ping) = (
      RemoteSignature<Void, Int>("get"), RemoteSignature<Int, Void>("put"), RemoteSignature<Void, Void>("ping")
    )
    registry.register(ProcedureTask<Void, Int>("get") { 5 }, as: get)
    registry.register(ProcedureTask<Int, Void>("put") { calls.append("put \($0)") }, as: put)
    registry.register(ProcedureTask<Void, Void>("ping") { calls.append("ping") }, as: ping)
    let executor = LocalExecutor(registry)
    let value = try await ProcedureTask<Void, Int>("get") { 0 }.remote(on: executor, as: get)()
    try await ProcedureTask<Int, Void>("put") { _ in }.remote(on: executor, as: put)(value)
    try await ProcedureTask<Void, Void>("ping") {}.remote(on: executor, as: ping)()
    #expect(calls.values == ["put 5", "ping"])
    #expect(registry.names.map(\.description) == ["get@1", "ping@1", "put@1"])
  }

  @Test("An error of the signature is returned unchanged, and any other error with its name and description")
  func errors() async throws {
    let listed = LocalExecutor(.doubling { throw ResizeError.tooLarge($0) })
    await #expect(throws: ResizeError.tooLarge(9)) { try await double.remote(on: listed, as: .double)(9) }
    let unlisted = LocalExecutor(.doubling { _ in throw UnlistedError() })
    await #expect(throws: RemoteFailure(type: "UnlistedError", message: "not listed")) {
      try await double.remote(on: unlisted, as: .double)(9)
    }
    let cancelled = LocalExecutor(.doubling { _ in throw CancellationError() })
    await #expect(throws: CancellationError.self) { try await double.remote(on: cancelled, as: .double)(9) }
  }

  @Test(
    "An error of the library is returned with its kind, its details and the underlying error, for the calling run")
  func libraryErrors() async throws {
    var registry = ProcedureRegistry()
    let breaker = CircuitBreaker("disk", failureRatio: 0.1, minimumCalls: 1, clock: VirtualClock())
    let broken = ProcedureTask<Int, Int>("double") { throw ResizeError.tooLarge($0) }.circuitBreaker(breaker)
    let conditional = broken.condition("space") { throw ResizeError.tooLarge(1) }
    registry.register(broken, as: .double)
    registry.register(conditional, as: RemoteSignature("double", version: 3, errors: [ResizeError.self]))
    let executor = LocalExecutor(registry)
    _ = try? await double.remote(on: executor, as: .double)(1)
    let run = ProcedureQueue("here").add(double.named("caller").remote(on: executor, as: .double), input: 1)
    let open = try #require(await run.outcome.procedureError)
    #expect(
      open.kind == .circuitOpen && open.breaker == "disk"
        && open.procedure == ProcedureIdentity(id: run.id, name: "caller"))
    let signature = RemoteSignature<Int, Int>("double", version: 3, errors: [ResizeError.self])
    let failed = await #expect(throws: ProcedureError.self) { try await double.remote(on: executor, as: signature)(1) }
    #expect(failed?.kind == .conditionFailed && failed?.condition == "space")
    #expect(failed?.underlying as? ResizeError == .tooLarge(1))
  }

  @Test("A worker that refuses its work counts as a failure of the caller's circuit breaker")
  func refusalOfWorker() async throws {
    let limiter = RateLimiter(1, per: .seconds(100), longestWait: .zero, clock: VirtualClock())
    var registry = ProcedureRegistry()
    registry.register(ProcedureTask<Int, Int>("double") { 2 * $0 }.rateLimited(limiter), as: .double)
    let breaker = CircuitBreaker("workers", failureRatio: 0.1, minimumCalls: 2, clock: VirtualClock())
    let call = double.remote(on: LocalExecutor(registry), as: .double).circuitBreaker(breaker)
    #expect(try await call(1) == 2)
    let error = await #expect(throws: ProcedureError.self) { try await call(1) }
    #expect(error?.kind == .rateExceeded && breaker.state == .open)
  }

  @Test("An unknown procedure and a wrong version are errors that list the available ones")
  func unknown() async throws {
    let executor = LocalExecutor(.doubling())
    let unknown = await #expect(throws: RemoteError.self) {
      try await double.remote(on: executor, as: RemoteSignature("triple"))(1)
    }
    #expect(unknown?.kind == .unknownProcedure && unknown?.reason.contains("registered: double") == true)
    let wrong = await #expect(throws: RemoteError.self) {
      try await double.remote(on: executor, as: RemoteSignature("double", version: 1))(1)
    }
    #expect(wrong?.kind == .wrongVersion && wrong?.reason.contains("only other versions of the procedure: 2") == true)
    #expect(wrong?.procedure == RemoteName("double", version: 1))
  }

  @Test(
    "An input or value that is too large is an error before it is sent, and an error that is too large is shortened")
  func sizes() async throws {
    var registry = ProcedureRegistry()
    let signature = RemoteSignature<String, String>("repeat")
    registry.register(
      ProcedureTask<String, String>("repeat") { text in
        if text == "fail" { throw RemoteFailure(type: "Long", message: String(repeating: "m", count: 100_000)) }
        return String(repeating: text, count: 1_000)
      }, as: signature)
    let executor = LocalExecutor(registry, payloadLimit: 10_000)
    let remote = ProcedureTask<String, String>("repeat") { $0 }.remote(on: executor, as: signature)
    #expect(try await remote("a").count == 1_000)
    for input in [String(repeating: "a", count: 9_999), "1234567890"] {
      let error = await #expect(throws: RemoteError.self) { try await remote(input) }
      #expect(error?.kind == .payloadTooLarge && error?.isTransient == false)
    }
    let failure = await #expect(throws: RemoteFailure.self) { try await remote("fail") }
    #expect(failure?.type == "Long" && (1..<1_000).contains(failure?.message.count ?? 0))
  }

  @Test("The text of another machine is shown without control characters, and keeps its lines")
  func hostileText() {
    let text = "\u{1b}[2J\u{9b}31m\u{202e}kitten\nat line 2"
    let failure = RemoteFailure(type: text, message: text)
    let error = RemoteError(.refused, procedure: RemoteName(text, version: 1), reason: text)
    let shown = ["\(failure)", failure.localizedDescription, "\(error)", error.localizedDescription]
    for description in shown {
      #expect(
        description.unicodeScalars.allSatisfy { $0 == "\n" || $0.harmless() == $0 } && description.contains("kitten"))
    }
    #expect(RemoteFailure(type: "T", message: text).message == text)
  }

  @Test("Bytes that the other side does not understand are an error in both directions")
  func coding() async throws {
    let executor = LocalExecutor(.doubling())
    let input = await #expect(throws: RemoteError.self) {
      try await ProcedureTask<String, Int>("double") { _ in 0 }
        .remote(on: executor, as: RemoteSignature("double", version: 2))("one")
    }
    #expect(input?.kind == .codingFailed && input?.reason.contains("the worker could not decode the input") == true)
    let output = await #expect(throws: RemoteError.self) {
      try await ProcedureTask<Int, String>("double") { _ in "" }
        .remote(on: executor, as: RemoteSignature("double", version: 2))(1)
    }
    #expect(output?.kind == .codingFailed && output?.reason.contains("the value could not be decoded") == true)
  }

  @Test("A cancellation of the handle, the caller or the queue reaches the body, which is awaited")
  func cancel() async throws {
    let (started, ended) = (Record<Int>(), Record<Int>())
    let executor = LocalExecutor(
      .doubling { number in
        started.append(number)
        defer { ended.append(number) }
        try await throwOnceCancelled()
        return number
      })
    let queue = ProcedureQueue("here")
    let remote = double.remote(on: executor, as: .double)
    let handle = queue.add(remote, input: 1)
    try await started.wait(for: 1)
    handle.cancel()
    #expect(await handle.outcome.isCancelled && ended.values == [1])
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        await #expect(throws: CancellationError.self) { try await queue.run(remote, input: 2) }
      }
      try await started.wait(for: 2)
      group.cancelAll()
    }
    async let inCaller = #expect(throws: CancellationError.self) { try await queue.run(remote, input: 3) }
    try await started.wait(for: 3)
    queue.cancelAll()
    _ = await inCaller
    #expect(ended.values == [1, 2, 3])
  }
}
