import Foundation
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct HTTPTransportTests {
  private struct Broken: Error {}

  private struct Canned: HTTPTransport {
    var status: Int?
    var headers: [String: String] = [:]
    var pieces: [String] = []
    var error: (any Error)?

    func perform(_ exchange: HTTPExchange) async throws {
      if let status, let url = exchange.request.url,
        let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: headers)
      {
        try exchange.didReceive(response)
      }
      for piece in pieces { try exchange.didReceive(Data(piece.utf8)) }
      if let error { throw error }
    }
  }

  private func load(_ transport: Canned) async throws -> HTTPPayloadResponse<Data> {
    var load = NetworkDataProcedure()
    load.settings.transport = transport
    return try await load(URLRequest(URL(string: "https://kitten.example/")!))
  }

  @Test("A substitute responds without a network")
  func substitute() async throws {
    #expect(try await load(Canned(status: 200, pieces: ["a ", "kitten"])).text == "a kitten")
  }

  @Test("A transport that provides no response, or throws its own error, causes an error with the address")
  func failures() async throws {
    let silent = await networkError { try await load(Canned()) }
    #expect(silent?.description == "GET https://kitten.example/ failed: the server did not send an HTTP response.")
    let broken = await networkError { try await load(Canned(status: 200, error: Broken())) }
    #expect(broken?.kind == .transferFailed)
    #expect(broken?.underlying is Broken)
    #expect(broken?.status == 200)
  }

  @Test("A body whose length differs from the announced length is incomplete, unless it is compressed")
  func lengths() async throws {
    let short = await networkError {
      try await load(Canned(status: 200, headers: ["Content-Length": "9"], pieces: ["a"]))
    }
    #expect(short?.kind == .incomplete)
    #expect(short?.description.contains("received 1 of 9 bytes") == true)
    let headers = ["Content-Length": "9", "Content-Encoding": "gzip"]
    #expect(try await load(Canned(status: 200, headers: headers, pieces: ["a"])).text == "a")
  }
}
