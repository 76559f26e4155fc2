import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import TestSupport
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct NetworkCancelTests {
  static let server: @Sendable (ServerRequest) -> ServerResponse = { request in
    switch request.path {
    case "/never": .neverAnswers
    case "/stalled": .ok("0123456789").stalled(after: 4)
    default: .endless()
    }
  }

  @Test(
    "A cancellation before or during the response closes the connection", arguments: ["/never", "/stalled", "/endless"])
  func handle(_ path: String) async throws {
    let server = try LoopbackServer(handler: Self.server)
    defer { server.stop() }
    var load = NetworkDataProcedure()
    load.settings.sizeLimit = .max
    let handle = ProcedureQueue.shared.add(load, input: URLRequest(server.url(path)))
    try await server.waitForRequests(1)
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    try await server.waitUntilUnconnected()
  }

  @Test(
    "A cancelled caller, and a queue that cancels the caller's body, end the transfer",
    arguments: [true, false])
  func caller(_ cancelsTask: Bool) async throws {
    let server = try LoopbackServer(handler: Self.server)
    defer { server.stop() }
    let queue = ProcedureQueue("network")
    let request = URLRequest(server.url("/stalled"))
    let task = Task { try await queue.run(NetworkDataProcedure(), input: request) }
    try await server.waitForRequests(1)
    if cancelsTask { task.cancel() } else { queue.cancelAll() }
    await #expect(throws: CancellationError.self) { try await task.value }
    try await server.waitUntilUnconnected()
  }

  @Test("A timeout ends the transfer, with the library's error")
  func timeout() async throws {
    let server = try LoopbackServer(handler: Self.server)
    defer { server.stop() }
    let clock = VirtualClock()
    let queue = ProcedureQueue("network", clock: clock)
    let handle = queue.add(NetworkDataProcedure().timeout(.seconds(8)), input: URLRequest(server.url("/never")))
    try await server.waitForRequests(1)
    clock.advance(by: .seconds(8))
    await #expect { try await handle.value } throws: { ($0 as? ProcedureError)?.kind == .timedOut }
    try await server.waitUntilUnconnected()
  }

  @Test("A cancelled task sends nothing")
  func before() async throws {
    let server = try LoopbackServer(handler: Self.server)
    defer { server.stop() }
    let exchange = HTTPExchange(URLRequest(server.url("/never")), onResponse: { _ in }, onData: { _ in })
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await URLSessionTransport.shared.perform(exchange)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requests.isEmpty)
  }

  @Test("Cancellations at arbitrary times leave no connection open, and cause no crash")
  func storm() async throws {
    let server = try LoopbackServer { _ in .ok(Data(count: 100_000)).chunked(by: 2_000) }
    defer { server.stop() }
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 8)
    let count = TestDepth.count(1_000, least: 100)
    let handles = (0..<count).map { _ in queue.add(NetworkDataProcedure(), input: URLRequest(server.url("/"))) }
    for (index, handle) in handles.enumerated() {
      // Each request is cancelled at a different time: in the queue, before the connection, in the body, or after the end.
      if index % 3 == 0 { _ = await handle.outcome } else { await Task.yield() }
      handle.cancel()
    }
    for handle in handles {
      let outcome = await handle.outcome
      #expect(outcome.isCancelled || outcome.value?.payload.count == 100_000)
    }
    try await server.waitUntilUnconnected()
  }

  @Test("A transport that is released releases its session")
  func dropped() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    weak var previous: URLSessionTransport?
    do {
      let transport = URLSessionTransport()
      previous = transport
      var load = NetworkDataProcedure()
      load.settings.transport = transport
      #expect(try await load(URLRequest(server.url("/"))).text == "a kitten")
    }
    // The task of the transfer may hold the transport for a moment longer.
    try await eventually { previous == nil }
    try await server.waitUntilUnconnected()
  }
}
