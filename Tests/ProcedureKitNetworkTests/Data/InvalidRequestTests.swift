import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct InvalidRequestTests {
  static let requests: [(URLRequest, String)] = {
    let url = URL(string: "http://127.0.0.1:1/")!
    var nowhere = URLRequest(url: url)
    nowhere.url = nil
    var stream = URLRequest(url, "POST")
    stream.httpBodyStream = InputStream(data: Data([1]))
    return [
      (nowhere, "has no URL"), (URLRequest(URL(string: "ftp://127.0.0.1/")!), "only http"),
      (URLRequest(URL(filePath: "/etc/hosts")), "only http"), (URLRequest(URL(string: "kitten")!), "only http"),
      (URLRequest(url, "GET", body: "a"), "Set httpMethod"), (URLRequest(url, "G T"), "its method"),
      (URLRequest(url, headers: ["X A": "1"]), "the name of a header field"),
      (stream, "httpBodyStream"),
    ]
  }()

  @Test("A request that cannot be sent is refused, and the error gives the reason", arguments: requests)
  func refused(_ request: URLRequest, _ reason: String) async throws {
    let error = await networkError { try await NetworkDataProcedure()(request) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.description.contains("was not sent because") == true)
    #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
  }

  @Test(
    "A header value with a line break or a NUL character is refused, and nothing is sent",
    arguments: ["token\n", "token\r\n", "a\rb", "a\0b", "a\r\n b", "\n"])
  func values(_ value: String) async throws {
    let transport = ScriptedTransport { exchange, _ in try exchange.answer(200) }
    var settings = TransferSettings()
    settings.transport = transport
    let url = URL(string: "https://kitten.example/")!
    var request = URLRequest(url: url)
    request.allHTTPHeaderFields = ["Authorization": value]
    let upload = HTTPPayloadRequest(.data(Data()), to: url, contentType: value)
    for error in [
      await networkError { [settings, request] in try await NetworkDataProcedure("load", settings)(request) },
      await networkError { [settings, request] in
        try await NetworkDownloadProcedure(to: URL(filePath: "/kitten"), settings)(request)
      },
      await networkError { [settings] in try await NetworkUploadProcedure("upload", settings)(upload) },
      await networkError { () throws -> Void in
        var request = URLRequest(url: url)
        try request.setHeader("Authorization", value)
      },
      await networkError { () throws -> Void in
        var payload = HTTPPayloadRequest(.data(Data()), to: url)
        try payload.setHeader("X-\(value)", "a")
      },
    ] {
      #expect(error?.kind == .invalidRequest)
      #expect(error?.description.contains("token") == false)
    }
    #expect(transport.exchanges.isEmpty)
  }

  @Test("A single-line header field is set, and replaces the previous one, regardless of case")
  func setHeader() throws {
    var request = URLRequest(url: URL(string: "https://kitten.example/")!)
    try request.setHeader("x-kitten", "Mia\tand Tom")
    try request.setHeader("X-Kitten", "Mía")
    #expect(request.value(forHTTPHeaderField: "X-Kitten") == "Mía")
    #expect(request.allHTTPHeaderFields?.count == 1)
  }
}
