import Foundation
import LoopbackServer
import ProcedureKit
import TestSupport
import Testing

@testable import ProcedureKitNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests that the error of a transfer states what went wrong, if this is known.
@Suite(.timeLimit(.minutes(10))) struct ErrorTextTests {
  private static let gzip = Data(base64Encoded: "H4sIAAAAAAACA0tUyM4sKUnNAwCPiOpFCAAAAA==") ?? Data()

  @Test(
    "An error of libcurl's transport states what was wrong with the response",
    .enabled(if: CurlTransport.shared != nil),
    arguments: [
      ("/truncated", "the response body is incomplete: the compressed data ends too early."),
      ("/damaged", "the response body is not valid gzip data (URLError -1016)."),
      ("/lengths", "the length of the response is invalid (URLError -1011)."),
      ("/colon", "the response headers are not valid HTTP (URLError -1011)."),
      ("/head", "the connection was closed before the end of the response headers (URLError -1005)."),
      ("/" + String(repeating: "a", count: 9_000_000), "the URL, which may be too long (URLError -1000)."),
    ])
  func response(_ path: String, reason: String) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/truncated": .ok(Self.gzip.dropLast(3), headers: ["Content-Encoding": "gzip"])
      case "/damaged": .ok(Data("a kitten".utf8), headers: ["Content-Encoding": "gzip"])
      case "/lengths": .garbage(Data("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd".utf8))
      case "/colon": .garbage(Data("HTTP/1.1 200 OK\r\nX-Kitten\r\n\r\n".utf8))
      default: .garbage(Data("HTTP/1.1 200 OK\r\n".utf8))
      }
    }
    defer { server.stop() }
    let error = await networkError { try await NetworkDataProcedure()(URLRequest(server.url(path))) }
    #expect(error?.description.hasSuffix(reason) == true, "\(String(describing: error))")
  }

  @Test(
    "An unreadable file of trusted certificates is named as the reason", .enabled(if: CurlTransport.shared != nil),
    arguments: ["/no/such/file", "/etc/passwd"])
  func certificates(_ path: String) async throws {
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    var configuration = CurlTransport.Configuration()
    configuration.trustedCertificates = URL(filePath: path)
    var load = NetworkDataProcedure()
    load.settings.transport = try #require(CurlTransport(configuration))
    let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let error = await networkError { try await load(URLRequest(url)) }
    #expect(error?.description.contains("the file of trusted certificates is missing or invalid") == true)
  }

  @Test("The reason for a file error is that of the system, if the system reported one")
  func files() {
    let full = CocoaError(.fileWriteOutOfSpace, userInfo: [NSUnderlyingErrorKey: POSIXError(.ENOSPC)])
    let request = URLRequest(URL(string: "http://kitten.example/")!)
    for underlying: any Error in [full, POSIXError(.ENOSPC), NSError(domain: NSPOSIXErrorDomain, code: Int(ENOSPC))] {
      let error = NetworkError(.fileFailed, request, "/a could not be written", underlying: underlying)
      #expect(
        error.description
          == "GET http://kitten.example/ failed because /a could not be written: No space left on device.")
    }
    #expect(!CocoaError(.fileWriteUnsupportedScheme).fileReason.isEmpty)
  }

  @Test("A request body that cannot be written to a temporary file is a file error of URLSession's transport")
  func stream() async throws {
    let body = HTTPBodyStream(byteCount: 2) { AsyncStream { $0.finish() } }
    let missing = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    let error = await networkError {
      try await body.collected(URLRequest(URL(string: "http://kitten.example/")!), in: missing)
    }
    #expect(error?.kind == .fileFailed)
    let reason = "could not be written to a temporary file: No such file or directory."
    #expect(error?.description.hasSuffix(reason) == true)
  }
}
