import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests the policy through a transport without a network, so that any origin can be used.
@Suite(.timeLimit(.minutes(10))) struct RedirectPolicyTests {
  private static let start = URL(string: "https://kitten.example/start")!

  /// Sends a request whose response at `/start` is a redirect.
  private func load(
    _ location: String, _ status: Int = 307, _ request: URLRequest = URLRequest(url: start),
    change: (inout TransferSettings) -> Void = { _ in }
  ) async throws -> (HTTPPayloadResponse<Data>, [URLRequest]) {
    let transport = ScriptedTransport { exchange, _ in
      if exchange.request.url?.path != "/start" { return try exchange.answer(200, [:], "a kitten") }
      try exchange.answer(status, ["Location": location, "Content-Length": "9"])
      // No transport reaches the end of this body.
      try await Task.sleep(for: .seconds(1_000_000))
    }
    var settings = TransferSettings()
    settings.transport = transport
    change(&settings)
    let response = try await NetworkDataProcedure("load", settings)(request)
    return (response, transport.exchanges.map(\.request))
  }

  @Test("The body of a redirect is not awaited")
  func body() async throws {
    let (response, requests) = try await load("/end")
    #expect(response.text == "a kitten")
    #expect(requests.map(\.url?.absoluteString) == [Self.start.absoluteString, "https://kitten.example/end"])
  }

  @Test("The body of a redirect is not awaited, whether the server keeps the connection open or sends endlessly")
  func realBody() async throws {
    guard !(TransferSettings().transport is URLSessionTransport) else { return }
    let server = try LoopbackServer { request in
      switch request.path {
      case "/stalled": .status(302, headers: ["Location": "/end"], body: Data("a page".utf8)).stalled(after: 2)
      case "/endless":
        {
          var response = ServerResponse.endless()
          response.status = 302
          response.headers["Location"] = "/end"
          return response
        }()
      default: .ok("a kitten")
      }
    }
    defer { server.stop() }
    for path in ["/stalled", "/endless"] {
      #expect(try await NetworkDataProcedure()(URLRequest(url: server.url(path))).text == "a kitten")
    }
  }

  @Test(
    "A redirect from https to http is refused unless the policy allows it, and the opposite direction is allowed",
    arguments: ["http://kitten.example/end", "HTTP://other.example/end", "http://kitten.example:443/end"])
  func downgrade(_ location: String) async throws {
    let error = await networkError { try await load(location, 302) }
    #expect(error?.kind == .refusedRedirect)
    #expect(error?.description.lowercased().contains("from https to http") == true)
    #expect(try await load(location, 302) { $0.redirects.allowsInsecureRedirects = true }.0.text == "a kitten")
    let insecure = URLRequest(url: URL(string: "http://kitten.example/start")!)
    #expect(try await load("https://kitten.example/end", 302, insecure).0.text == "a kitten")
  }

  @Test(
    "A body is sent only to the same origin unless the policy allows others",
    arguments: [(307, "POST"), (308, "POST"), (307, "PUT"), (301, "PUT"), (302, "PATCH")])
  func bodies(_ status: Int, _ method: String) async throws {
    let request = URLRequest(Self.start, method, body: "meow")
    for other in ["https://other.example/end", "https://kitten.example:8443/end", "//kitten.example.evil.example/end"] {
      let error = await networkError { try await load(other, status, request) }
      #expect(error?.kind == .refusedRedirect)
      #expect(error?.description.contains("to another origin, https://") == true)
      let (_, requests) = try await load(other, status, request) { $0.redirects.sendsBodyToOtherOrigins = true }
      #expect(requests.last?.httpBody == Data("meow".utf8))
      // Without a body, there is nothing to withhold.
      #expect(try await load(other, status, URLRequest(Self.start, method)).1.last?.httpMethod == method)
    }
    #expect(try await load("/end", status, request).1.last?.httpBody == Data("meow".utf8))
    #expect(try await load("https://other.example/end", 303, request).1.last?.httpBody == nil)
    var settings = TransferSettings()
    let transport = ScriptedTransport { exchange, _ in
      try exchange.answer(307, ["Location": "https://other.example/end"])
    }
    settings.transport = transport
    let upload = HTTPPayloadRequest(.data(Data("meow".utf8)), to: Self.start)
    let error = await networkError { [settings] in try await NetworkUploadProcedure("upload", settings)(upload) }
    #expect(error?.kind == .refusedRedirect)
    #expect(transport.exchanges.count == 1)
  }

  @Test(
    "Hosts are compared without regard to case, the dot of the root, and the default port of the scheme",
    arguments: [
      ("https://KITTEN.Example/end", true), ("https://kitten.example./end", true),
      ("HTTPS://kitten.example:443/end", true),
      ("https://kitten.example:444/end", false), ("https://kitten.example../end", false),
      ("https://kitten.example.org/end", false), ("https://kitten.example@other.example/end", false),
    ])
  func origins(_ location: String, _ isSame: Bool) async throws {
    let headers = ["authorization": "secret", "COOKIE": "secret", "Proxy-Authorization": "secret", "X-Key": "secret"]
    let request = URLRequest(Self.start, headers: headers.merging(["Accept": "text/cat"]) { $1 })
    let (_, requests) = try await load(location, 302, request) { $0.redirects.credentialHeaders.insert("x-KEY") }
    let fields = requests.last?.allHTTPHeaderFields ?? [:]
    #expect(fields.values.contains("secret") == isSame)
    #expect(fields.count == (isSame ? 5 : 1))
  }

  @Test("The names of credentials that a program sets are added to the standard ones")
  func assignedCredentials() async throws {
    let headers = ["Authorization": "secret", "Cookie": "secret", "X-Key": "secret"]
    let request = URLRequest(Self.start, headers: headers.merging(["Accept": "text/cat"]) { $1 })
    let (_, requests) = try await load("https://other.example/end", 302, request) {
      $0.redirects.credentialHeaders = ["X-Key"]
    }
    #expect(requests.last?.allHTTPHeaderFields == ["Accept": "text/cat"])
  }

  @Test("A redirect status without a Location is the response, with its body", arguments: [301, 302, 303, 307, 308])
  func withoutLocation(_ status: Int) async throws {
    var load = NetworkDataProcedure()
    load.settings.transport = ScriptedTransport { exchange, _ in try exchange.answer(status, [:], "a page") }
    #expect(try await load(URLRequest(url: Self.start)).text == "a page")
    guard !(TransferSettings().transport is URLSessionTransport) else { return }
    let server = try LoopbackServer { _ in .status(status, body: Data("a page".utf8)) }
    defer { server.stop() }
    let response = try await NetworkDataProcedure()(URLRequest(url: server.url("/")))
    #expect(response.status.rawValue == status)
    #expect(response.text == "a page")
  }

  @Test(
    "A Location with characters that an address cannot contain is encoded as in browsers",
    arguments: [
      ("/zürich nord|süd", "https://kitten.example/z%C3%BCrich%20nord%7Cs%C3%BCd"),
      ("/a%20b c", "https://kitten.example/a%20b%20c"), ("/100%", "https://kitten.example/100%25"),
      ("https://müller.example/ü?q=ä b", "https://xn--mller-kva.example/%C3%BC?q=%C3%A4%20b"),
      (" /end ", "https://kitten.example/end"),
      ("/a\tb", "https://kitten.example/ab"), ("//MÜLLER.example", "https://xn--mller-kva.example"),
      ("?a=http://b/c d", "https://kitten.example/start?a=http://b/c%20d"),
    ])
  func encoded(_ location: String, _ address: String) async throws {
    let transport = ScriptedTransport { exchange, number in
      number == 1 ? try exchange.answer(302, ["Location": location]) : try exchange.answer(200)
    }
    var load = NetworkDataProcedure()
    load.settings.transport = transport
    _ = try await load(URLRequest(url: Self.start))
    #expect(transport.exchanges.last?.request.url?.absoluteString == address)
  }

  @Test("A program sees each redirect before it is followed, and can end the transfer")
  func hook() async throws {
    struct Refused: Error {}
    let seen = Mutex<[String]>([])
    let (_, requests) = try await load("/end") { settings in
      settings.onRedirect = { request in seen.withLock { $0.append(request.url?.path ?? "") } }
    }
    #expect(seen.withLock { $0 } == ["/end"])
    #expect(requests.count == 2)
    await #expect(throws: Refused.self) { try await load("/end") { $0.onRedirect = { _ in throw Refused() } } }
  }
}
