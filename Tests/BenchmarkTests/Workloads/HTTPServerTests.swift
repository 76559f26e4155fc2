import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

@testable import Benchmark

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct HTTPServerTests {
  private struct Interrupted: Error {}

  private static func load(_ path: String, from server: URL) async throws -> Data {
    try await NetworkDataProcedure()(URLRequest(url: server.appending(path: path))).payload
  }

  @Test(
    "nginx answers while it is needed, and is stopped afterwards, even after an error",
    .enabled(if: HTTPServer.nginx != nil && HTTPServer.running == nil, "nginx is missing"))
  func nginx() async throws {
    var address: URL?
    await #expect(throws: Interrupted.self) {
      try await HTTPServer.whileRunning(mebibytes: 2) { server in
        address = server.url
        #expect(server.name == "nginx")
        #expect(try await Self.load("1", from: server.url) == Data(HTTPServer.body.utf8))
        #expect(try await Self.load("long/2", from: server.url).count == 2 << 20)
        throw Interrupted()
      }
    }
    let server = try #require(address)
    await #expect(throws: (any Error).self) { try await Self.load("1", from: server) }
  }

  @Test("This program's server gives the same response")
  func ownServer() async throws {
    let server = try LoopbackServer(keepsConnections: true, handler: HTTPServer.response)
    defer { server.stop() }
    #expect(try await Self.load("1", from: server.url("/")) == Data(HTTPServer.body.utf8))
    #expect(try await Self.load("long/2", from: server.url("/")).count == 2 << 20)
  }
}
