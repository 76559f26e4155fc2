import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct NetworkDataProcedureTests {
  private let load = NetworkDataProcedure("load")

  @Test("The body, the status and the header fields are returned")
  func body() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten", headers: ["X-Colour": "grey"]) }
    defer { server.stop() }
    let response = try await load(URLRequest(server.url("/kitten?size=2", host: "127.0.0.1"), headers: ["X-One": "1"]))
    #expect(response.text == "a kitten")
    #expect(response.status == 200)
    #expect(response.header("x-colour") == "grey")
    #expect(server.requests.first?.query == "size=2")
    #expect(server.requests.first?.headers["X-One"] == "1")
    try await server.waitUntilUnconnected()
  }

  @Test(
    "A body can arrive in chunks, without a length, or slowly, and can be empty",
    arguments: ["/chunks", "/close", "/pieces"])
  func framings(_ path: String) async throws {
    let kittens = Data((0..<300_000).map { UInt8($0 % 251) })
    let gate = ServerGate()
    gate.open()
    let server = try LoopbackServer { request in
      switch request.path {
      case "/chunks": .ok(kittens).chunked(by: 7_000)
      case "/close": .ok(kittens).withoutLength()
      default: .ok(kittens).gated(gate, after: 1).gated(gate, after: 100_000)
      }
    }
    defer { server.stop() }
    #expect(try await load(URLRequest(server.url(path))).payload == kittens)
  }

  @Test("Every status is a response, unless the procedure does not accept the status", arguments: [204, 404, 500])
  func statuses(_ status: Int) async throws {
    let server = try LoopbackServer { _ in .status(status, body: status == 204 ? Data() : Data("no kitten".utf8)) }
    defer { server.stop() }
    let request = URLRequest(server.url("/kitten"))
    let response = try await load(request)
    #expect(response.status.rawValue == status)
    #expect(response.text == (status == 204 ? "" : "no kitten"))

    var strict = load
    strict.settings.acceptsStatus = { $0 == 200 }
    let error = await networkError { [strict] in try await strict(request) }
    #expect(error?.kind == .unacceptableStatus)
    #expect(error?.status?.rawValue == status)
    #expect(error?.body == response.payload)
    #expect(error?.description == "GET http://127.0.0.1:\(server.port)/kitten failed with status \(status).")
  }

  @Test("The body of a response with a status that is not accepted is read up to 64 KB")
  func longRefusal() async throws {
    let server = try LoopbackServer { _ in
      var response = ServerResponse.endless()
      response.status = 500
      return response
    }
    defer { server.stop() }
    var load = load
    load.settings.acceptsStatus = \.isSuccess
    let error = await networkError { [load] in try await load(URLRequest(server.url("/"))) }
    #expect(error?.kind == .unacceptableStatus)
    #expect(error?.body.count == 65_536)
    try await server.waitUntilUnconnected()
  }

  @Test(
    "A server fault causes an error with the address, and leaves no connection open",
    arguments: ["/closes", "/resets", "/middle", "/truncated", "/chunks", "/garbage"])
  func faults(_ path: String) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/closes": .closes
      case "/resets": .resets
      case "/middle": .ok(Data(count: 1_000_000)).reset(after: 500_000)
      case "/truncated": .ok("0123456789").truncated(after: 4)
      case "/chunks": .ok("0123456789").chunked(by: 2).truncated(after: 4)
      default: .garbage()
      }
    }
    defer { server.stop() }
    let error = await networkError { try await load(URLRequest(server.url(path + "?token=secret"))) }
    #expect(error?.kind == .transferFailed || error?.kind == .incomplete, "\(String(describing: error))")
    #expect(error?.description.hasPrefix("GET http://127.0.0.1:\(server.port)\(path)?… failed") == true)
    try await server.waitUntilUnconnected()
  }

  @Test("A port that refuses connections, and an unknown host, cause the corresponding errors")
  func unreachable() async throws {
    let refusing = try RefusingPort()
    let refused = await networkError { try await load(URLRequest(refusing.url("/"))) }
    #expect(refused?.code == .cannotConnectToHost)
    #expect(refused?.description.contains("a connection to the host could not be established") == true)
    let unknown = await networkError { try await load(URLRequest(URL(string: "http://kitten.invalid/")!)) }
    #expect(unknown?.kind == .transferFailed)
    withExtendedLifetime(refusing) {}
  }

  @Test(
    "A body that is too long ends the transfer, with and without an announced length",
    arguments: ["/known", "/endless"])
  func limit(_ path: String) async throws {
    let server = try LoopbackServer { request in
      request.path == "/known" ? .ok(Data(count: 1_001)).stalled(after: 0) : .endless()
    }
    defer { server.stop() }
    var load = load
    load.settings.sizeLimit = 1_000
    let error = await networkError { [load] in try await load(URLRequest(server.url(path))) }
    #expect(error?.kind == .tooLarge)
    #expect(error?.description.contains("larger than 1000 bytes") == true)
    try await server.waitUntilUnconnected()
  }

  @Test("A body whose length is exactly the limit is accepted")
  func exactLimit() async throws {
    let server = try LoopbackServer { _ in .ok(Data(count: 1_000)).chunked(by: 300) }
    defer { server.stop() }
    var load = load
    load.settings.sizeLimit = 1_000
    #expect(try await load(URLRequest(server.url("/"))).payload.count == 1_000)
  }

  @Test("Progress counts the bytes up to the announced length")
  func progress() async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { _ in .ok(Data(count: 500_000)).gated(gate, after: 1_000) }
    defer { server.stop() }
    let seen = Mutex<[NetworkProgress]>([])
    var load = load
    load.settings.onProgress = { progress in
      seen.withLock { $0.append(progress) }
      if progress.bytesReceived == 1_000 { gate.open() }
    }
    _ = try await load(URLRequest(server.url("/")))
    let progress = seen.withLock { $0 }
    #expect(progress.first == NetworkProgress(bytesReceived: 0, bytesToReceive: 500_000))
    #expect(progress.contains { $0.bytesReceived == 1_000 && $0.fractionReceived == 0.002 })
    #expect(progress.last == NetworkProgress(bytesReceived: 500_000, bytesToReceive: 500_000))
    #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.bytesReceived <= $1.bytesReceived })
  }

  @Test("Two hundred requests finish, thirty at a time")
  func many() async throws {
    let server = try LoopbackServer { request in .ok(request.path) }
    defer { server.stop() }
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 30)
    let paths = (1...200).map { "/\($0)" }
    let texts = try await queue.map(paths, with: ProcedureTask { try await load(URLRequest(server.url($0))).text })
    #expect(texts == paths)
    #expect(server.peakRequests <= 30)
    try await server.waitUntilUnconnected()
  }
}
