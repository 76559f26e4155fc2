import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct JSONTests {
  private struct Kitten: Codable, Equatable {
    var name: String
    var bornOn: Date?
  }

  @Test("JSON is decoded to a value, with the settings of the decoder")
  func decodes() async throws {
    let server = try LoopbackServer { _ in .ok(#"{"name": "Mia", "born_on": 5}"#) }
    defer { server.stop() }
    let load = NetworkDataProcedure().json(Kitten.self) {
      $0.keyDecodingStrategy = .convertFromSnakeCase
      $0.dateDecodingStrategy = .secondsSince1970
    }
    let kitten = try await load(URLRequest(server.url("/")))
    #expect(kitten == Kitten(name: "Mia", bornOn: Date(timeIntervalSince1970: 5)))
  }

  @Test("Unexpected JSON, invalid JSON, and another status are errors with the address and the body")
  func refuses() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/other": .ok(#"{"colour": "grey"}"#)
      case "/none": .ok("<html>")
      default: .status(404, body: Data(#"{"name": "nobody"}"#.utf8))
      }
    }
    defer { server.stop() }
    let load = NetworkDataProcedure().json(Kitten.self)
    for path in ["/other", "/none"] {
      let error = await networkError { try await load(URLRequest(server.url(path))) }
      #expect(error?.kind == .undecodable)
      #expect(error?.underlying is DecodingError)
      #expect(error?.body.isEmpty == false)
      #expect(
        error?.description.hasPrefix("a request for \(server.url(path)) failed because Kitten could not be") == true)
    }
    let error = await networkError { try await load(URLRequest(server.url("/missing"))) }
    #expect(error?.kind == .unacceptableStatus)
    #expect(error?.status == 404)
  }
}
