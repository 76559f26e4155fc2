import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct NetworkResilienceTests {
  private let time = PausedTime()

  /// A request without a timeout, so that the only timers are the pauses.
  private var resilience: NetworkResilience {
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    resilience.backoff = [.seconds(1), .seconds(2), .seconds(4)]
    return resilience
  }

  @Test("The defaults are those of the original: 8 seconds, 3 attempts")
  func defaults() {
    let defaults = NetworkResilience()
    #expect(defaults.attemptTimeout == .seconds(8))
    #expect(defaults.maxAttempts == 3)
  }

  @Test(
    "A request with a transient status is repeated after the pauses of the back-off",
    arguments: [500, 502, 503, 599, 408])
  func passing(_ status: Int) async throws {
    let server = try LoopbackServer { $0.attempt < 3 ? .status(status) : .ok("a kitten") }
    defer { server.stop() }
    let load = NetworkDataProcedure().resilient(resilience)
    let handle = time.queue.add(load, input: URLRequest(server.url("/")))
    #expect(try await time.endPause() == .seconds(1))
    #expect(try await time.endPause() == .seconds(2))
    #expect(try await handle.value.text == "a kitten")
    #expect(server.requests.count == 3)
  }

  @Test("A status that persists is an error with the body after the last attempt")
  func lasting() async throws {
    let server = try LoopbackServer { _ in .status(503, body: Data("no kittens".utf8)) }
    defer { server.stop() }
    let handle = time.queue.add(NetworkDataProcedure().resilient(resilience), input: URLRequest(server.url("/a?b=c")))
    for _ in 1...2 { _ = try await time.endPause() }
    let error = await networkError { try await handle.value }
    #expect(error?.kind == .unacceptableStatus)
    #expect(error?.body == Data("no kittens".utf8))
    #expect(error?.description == "GET http://127.0.0.1:\(server.port)/a?… failed with status 503.")
    #expect(server.requests.count == 3)
  }

  @Test("Any other status is the result of the first attempt", arguments: [200, 204, 400, 401, 404, 410])
  func final(_ status: Int) async throws {
    let server = try LoopbackServer { _ in .status(status) }
    defer { server.stop() }
    let load = NetworkDataProcedure().resilient(resilience)
    #expect(try await time.queue.run(load, input: URLRequest(server.url("/"))).status.rawValue == status)
    #expect(server.requests.count == 1)
  }

  @Test(
    "A lost connection, a body that ends early, and garbage are retried",
    arguments: ["/closes", "/resets", "/middle", "/truncated", "/chunks", "/garbage"])
  func faults(_ path: String) async throws {
    let server = try LoopbackServer { request in
      guard request.attempt == 1 else { return .ok("0123456789") }
      return switch request.path {
      case "/closes": .closes
      case "/resets": .resets
      case "/middle": .ok("0123456789").reset(after: 4)
      case "/truncated": .ok("0123456789").truncated(after: 4)
      case "/chunks": .ok("0123456789").chunked(by: 2).truncated(after: 4)
      default: .garbage()
      }
    }
    defer { server.stop() }
    let handle = time.queue.add(NetworkDataProcedure().resilient(resilience), input: URLRequest(server.url(path)))
    #expect(try await time.endPause() == .seconds(1))
    #expect(try await handle.value.text == "0123456789")
    try await server.waitUntilUnconnected()
  }

  @Test("A refusing port is retried until the last attempt, for every method", arguments: ["GET", "POST"])
  func refused(_ method: String) async throws {
    let port = try RefusingPort()
    let handle = time.queue.add(
      NetworkDataProcedure().resilient(resilience), input: URLRequest(port.url("/"), method))
    for _ in 1...2 { _ = try await time.endPause() }
    #expect(await networkError { try await handle.value }?.code == .cannotConnectToHost)
    withExtendedLifetime(port) {}
  }

  @Test("An attempt that hangs ends when its time is up, and the next one follows")
  func hanging() async throws {
    let server = try LoopbackServer { $0.attempt == 1 ? .neverAnswers : .ok("a kitten") }
    defer { server.stop() }
    var resilience = resilience
    resilience.attemptTimeout = .seconds(8)
    let load = NetworkDataProcedure().resilient(resilience)
    let handle = time.queue.add(load, input: URLRequest(server.url("/")))
    try await server.waitForRequests(1)
    time.clock.advance(by: .seconds(8))
    #expect(try await time.endPause() == .seconds(1))
    #expect(try await handle.value.text == "a kitten")
    try await server.waitUntilUnconnected()
  }

  @Test("A request that may have been carried out is not repeated unless it is marked as repeatable")
  func unrepeatable() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/reset": .resets
      case "/busy": request.attempt == 1 ? .status(429) : .ok("")
      default: .status(500)
      }
    }
    defer { server.stop() }
    let load = NetworkDataProcedure().resilient(resilience)
    for path in ["/reset", "/error"] {
      let error = await networkError { try await load(URLRequest(server.url(path), "POST", body: "meow")) }
      #expect(error != nil)
      #expect(server.requests(to: path).count == 1)
    }
    let busy = time.queue.add(load, input: URLRequest(server.url("/busy"), "POST", body: "meow"))
    _ = try await time.endPause()
    #expect(try await busy.value.status == 200)
    let headers = ["Idempotency-Key": "1"]
    let keyed = time.queue.add(load, input: URLRequest(server.url("/keyed"), "POST", headers: headers, body: "meow"))
    for _ in 1...2 { _ = try await time.endPause() }
    #expect(await networkError { try await keyed.value }?.status == 500)
    #expect(server.requests(to: "/keyed").count == 3)
    #expect(server.requests(to: "/keyed").allSatisfy { $0.body == Data("meow".utf8) })
  }

  @Test("A loop of redirects, a long body and a bad request are not retried")
  func unmendable() async throws {
    let server = try LoopbackServer { $0.path == "/loop" ? .redirect(to: "/loop") : .ok(Data(count: 2_000)) }
    defer { server.stop() }
    var load = NetworkDataProcedure()
    load.settings.sizeLimit = 1_000
    let resilient = load.resilient(resilience)
    #expect(await networkError { try await resilient(URLRequest(server.url("/loop"))) }?.kind == .tooManyRedirects)
    #expect(await networkError { try await resilient(URLRequest(server.url("/long"))) }?.kind == .tooLarge)
    let bad = URLRequest(server.url("/"), "G T")
    #expect(await networkError { try await resilient(bad) }?.kind == .invalidRequest)
    #expect(server.requests(to: "/loop").count == 11)
    #expect(server.requests.count == 12)
  }

  @Test("If the retry budget is exhausted, the error of the first attempt is thrown, and a cancellation ends a pause")
  func budgetAndCancel() async throws {
    let server = try LoopbackServer { _ in .status(500) }
    defer { server.stop() }
    let load = NetworkDataProcedure().resilient(resilience, budget: RetryBudget(capacity: 0))
    #expect(await networkError { try await load(URLRequest(server.url("/"))) }?.status == 500)
    #expect(server.requests.count == 1)
    let handle = time.queue.add(NetworkDataProcedure().resilient(resilience), input: URLRequest(server.url("/")))
    try await time.clock.nextSleep()
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(server.requests.count == 2)
  }
}
