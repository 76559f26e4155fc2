import Foundation
import LoopbackServer
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests the server with the client for which it is made.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
  private static func fetch(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    let session = URLSession(configuration: .ephemeral)
    defer { session.invalidateAndCancel() }
    let (data, response) = try await session.data(for: request)
    return (data, try #require(response as? HTTPURLResponse))
  }

  private static func code(_ url: URL) async throws -> URLError.Code? {
    do {
      _ = try await fetch(URLRequest(url: url))
      return nil
    } catch let error as URLError {
      return error.code
    }
  }

  @Test("A session receives a body, even in chunks or without a length", arguments: ["/plain", "/chunks", "/close"])
  func body(_ path: String) async throws {
    let kittens = Data(repeating: 7, count: 300_000)
    let server = try LoopbackServer { request in
      switch request.path {
      case "/chunks": .ok(kittens).chunked(by: 10_000)
      case "/close": .ok(kittens).withoutLength()
      default: .ok(kittens)
      }
    }
    defer { server.stop() }
    let (data, response) = try await Self.fetch(URLRequest(url: server.url(path)))
    #expect(response.statusCode == 200)
    #expect(data == kittens)
    try await server.waitUntilUnconnected()
  }

  @Test("An upload of two megabytes arrives complete")
  func upload() async throws {
    let server = try LoopbackServer { request in .ok("\(request.body.count)") }
    defer { server.stop() }
    var request = URLRequest(url: server.url("/"))
    request.httpMethod = "PUT"
    request.httpBody = Data(repeating: 1, count: 2_000_000)
    #expect(try await Self.fetch(request).0 == Data("2000000".utf8))
    #expect(server.requests.first?.body == request.httpBody)
  }

  @Test("A redirect is followed, and a loop ends in an error")
  func redirects() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/old": .redirect(to: "/new")
      case "/loop": .redirect(to: "/loop", status: 301)
      default: .ok("new")
      }
    }
    defer { server.stop() }
    let (data, response) = try await Self.fetch(URLRequest(url: server.url("/old")))
    #expect(data == Data("new".utf8))
    #expect(response.url == server.url("/new"))
    #expect(try await Self.code(server.url("/loop")) == .httpTooManyRedirects)
  }

  @Test("Faults become errors", arguments: ["/closes", "/resets", "/middle", "/truncated", "/garbage"])
  func faults(_ path: String) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/closes": .closes
      case "/resets": .resets
      case "/middle": .ok(Data(count: 1_000_000)).reset(after: 500_000)
      case "/truncated": .ok("0123456789").truncated(after: 4)
      default: .garbage()
      }
    }
    defer { server.stop() }
    #expect(try await Self.code(server.url(path)) != nil)
  }

  @Test("A refusing port causes the corresponding error")
  func refused() async throws {
    let refusing = try RefusingPort()
    #expect(try await Self.code(refusing.url("/")) == .cannotConnectToHost)
    withExtendedLifetime(refusing) {}
  }

  @Test("Cancelling a session's task closes the connection")
  func cancelled() async throws {
    let server = try LoopbackServer { _ in .ok("0123456789").stalled(after: 4) }
    defer { server.stop() }
    let url = server.url("/")
    let task = Task { try await Self.fetch(URLRequest(url: url)).0 }
    try await server.waitForRequests(1)
    task.cancel()
    await #expect(throws: (any Error).self) { try await task.value }
    try await server.waitUntilUnconnected()
  }
}
