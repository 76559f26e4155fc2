import Foundation
import Testing

@testable import LoopbackServer

@Suite(.timeLimit(.minutes(10))) struct LifetimeTests {
  @Test("A gate delays a response, even in the middle of its body, until the test opens the gate")
  func gates() async throws {
    let (first, second) = (ServerGate(), ServerGate())
    let server = try LoopbackServer { _ in .ok("0123456789").gated(first).gated(second, after: 4) }
    defer { server.stop() }
    async let reply = RawClient.get(server, "/")
    try await first.waitForArrivals()
    #expect(server.requests.count == 1)
    #expect(second.arrivals == 0)
    first.open()
    try await second.waitForArrivals()
    #expect(second.isOpen == false)
    second.open()
    #expect(await reply.body == "0123456789")
    #expect(await RawClient.get(server, "/").body == "0123456789")
  }

  @Test("Requests are answered concurrently, and the largest number of concurrent requests is recorded")
  func peak() async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { request in request.path == "/gated" ? .ok("").gated(gate) : .ok("abc") }
    defer { server.stop() }
    for _ in 1...5 { _ = await RawClient.get(server, "/") }
    #expect(server.peakRequests == 1)
    await withTaskGroup { group in
      for _ in 1...20 { group.addTask { _ = await RawClient.get(server, "/gated") } }
      try? await gate.waitForArrivals(20)
      gate.open()
    }
    #expect(server.peakRequests == 20)
  }

  @Test("A client that disconnects ends a waiting response, and the connection is closed")
  func leaving() async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { request in
      switch request.path {
      case "/never": .neverAnswers
      case "/stalled": .ok("0123456789").stalled(after: 4)
      case "/endless": .endless()
      default: .ok("").gated(gate)
      }
    }
    defer { server.stop() }
    var sockets: [Socket] = []
    for path in ["/never", "/stalled", "/endless", "/gated"] {
      let socket = try #require(RawClient.connect(port: server.port))
      try socket.send(Data("GET \(path) HTTP/1.1\r\n\r\n".utf8))
      sockets.append(socket)
    }
    try await server.waitForRequests(4)
    #expect(server.openConnections == 4)
    for socket in sockets { socket.close() }
    try await server.waitUntilUnconnected()
    #expect(server.openConnections == 0)
  }

  @Test("Stopping ends every response and every wait, and closes the port")
  func stops() async throws {
    let gate = ServerGate()
    let server = try LoopbackServer { request in
      switch request.path {
      case "/never": .neverAnswers
      case "/endless": .endless()
      default: .ok("").gated(gate)
      }
    }
    let sockets = try ["/never", "/endless", "/gated"].map { path in
      let socket = try #require(RawClient.connect(port: server.port))
      try socket.send(Data("GET \(path) HTTP/1.1\r\n\r\n".utf8))
      return socket
    }
    // This client has sent nothing.
    let silent = try #require(RawClient.connect(port: server.port))
    try await server.waitForRequests(3)
    let waiting = Task { try await server.waitForRequests(4) }
    server.stop()
    server.stop()
    #expect(server.openConnections == 0)
    await #expect(throws: ServerError.self) { try await waiting.value }
    #expect(await RawClient.get(server, "/").code == ECONNREFUSED)
    for socket in sockets + [silent] { socket.close() }
  }

  @Test("A server that is dropped closes its port")
  func dropped() async throws {
    var server: LoopbackServer? = try LoopbackServer { _ in .ok("") }
    let port = try #require(server?.port)
    weak let reference = server
    server = nil
    #expect(reference == nil)
    // The threads end on their own. Each connection that is accepted in the meantime is closed, and one that is waiting then is reset.
    var code: CInt = 0
    repeat {
      let socket = RawClient.connect(port: port)
      code = socket == nil ? errno : 0
      socket?.close()
      await Task.yield()
    } while code == 0 || code == ECONNRESET
    #expect(code == ECONNREFUSED)
  }

  @Test("A wait ends when its task is cancelled")
  func cancels() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let gate = ServerGate()
    let waits = [Task { try await server.waitForRequests(1) }, Task { try await gate.waitForArrivals() }]
    for task in waits {
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test("A refusing port refuses connections as long as the object exists")
  func refusing() throws {
    let refusing = try RefusingPort()
    #expect(RawClient.connect(port: refusing.port) == nil)
    #expect(errno == ECONNREFUSED)
    withExtendedLifetime(refusing) {}
  }
}
