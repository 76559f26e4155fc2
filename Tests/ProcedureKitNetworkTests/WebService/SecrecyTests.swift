import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import TestSupport
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct SecrecyTests {
  private func dumped(_ value: Any) -> String {
    var text = ""
    dump(value, to: &text)
    return text + "\(value)" + String(reflecting: value)
  }

  @Test("No log, event, error, description or mirror contains tokens or secrets")
  func secrets() async throws {
    let server = try TokenServer(rotates: true)
    defer { server.server.stop() }
    let log = LogCollector()
    let time = PausedTime(log: log)
    for configuration in [server.configuration, server.refreshing()] {
      let service = WebServiceCapability("kittens", configuration)
      var load = NetworkDataProcedure("load")
      load.settings.acceptsStatus = \.isSuccess
      let authorized = load.authorized(by: service)
      let first = time.queue.add(authorized, input: URLRequest(server.server.url("/kitten")))
      _ = try await first.value
      server.revoke()
      let second = time.queue.add(authorized, input: URLRequest(server.server.url("/kitten")))
      _ = try await second.value
      let missing = authorized.map { _ in throw NetworkFailure.none }
      let third = time.queue.add(missing, input: URLRequest(server.server.url("/kitten")))
      _ = await third.result
      var texts = [dumped(service), dumped(configuration), dumped(authorized), dumped(time.queue.snapshot())]
      for events in [await first.allEvents(), await second.allEvents(), await third.allEvents()] {
        #expect(events.contains { $0.kind == .didFinish })
        texts.append(dumped(events))
      }
      texts += log.messages.map(dumped)
      for text in texts { #expect(!text.contains("secret"), "\(text)") }
    }
    #expect(log.messages.contains { $0.text.contains("no longer accepts the token") })
  }

  private enum NetworkFailure: Error { case none }

  @Test("An error contains the request without its body and credentials")
  func errors() async throws {
    let server = try LoopbackServer { _ in .status(403) }
    defer { server.stop() }
    var load = NetworkDataProcedure("load")
    load.settings.acceptsStatus = \.isSuccess
    let headers = ["authorization": "secret", "Cookie": "secret", "Accept": "text/cat"]
    let request = URLRequest(server.url("/kitten"), "POST", headers: headers, body: "secret")
    let thrown = await networkError { [load] in try await load(request) }
    let error = try #require(thrown)
    #expect(error.request.allHTTPHeaderFields?["Accept"] == "text/cat")
    #expect(error.request.httpMethod == "POST")
    #expect(!dumped(error).contains("secret"))
    #expect(server.requests.first?.headers["Authorization"] == "secret")
  }

  /// A request with a secret in each place that can hold one, and a key that only the policy knows.
  private static let request = URLRequest(
    URL(string: "https://secret-user:secret-password@kitten.example/kitten?token=secret#secret")!, "PUT",
    headers: [
      "Authorization": "secret", "Cookie": "secret", "Proxy-Authorization": "secret", "X-Api-Key": "secret",
      "Accept-Language": "secret", "Accept": "text/cat",
    ])

  private static var settings: TransferSettings {
    var settings = TransferSettings()
    settings.redirects.credentialHeaders.formUnion(["x-api-key", "accept-language"])
    return settings
  }

  @Test(
    "No error contains a user, a password, a query, a fragment or a credential",
    arguments: [
      NetworkError.Kind.transferFailed, .incomplete, .tooLarge, .unacceptableStatus, .tooManyRedirects,
      .invalidRedirect, .fileFailed, .invalidRequest, .undecodable,
    ])
  func everyKind(_ kind: NetworkError.Kind) async throws {
    var settings = Self.settings
    settings.sizeLimit = 20
    settings.redirects.limit = 1
    settings.acceptsStatus = \.isSuccess
    settings.transport = ScriptedTransport { exchange, _ in
      let headers = [
        "Set-Cookie": "secret", "Content-Location": "//secret:secret@kitten.example/?secret",
        "Retry-After": "7",
      ]
      switch kind {
      case .transferFailed:
        let url = exchange.request.url!
        throw URLError(
          .timedOut,
          userInfo: [NSURLErrorFailingURLErrorKey: url, "NSErrorFailingURLStringKey": url.absoluteString])
      case .incomplete: try exchange.answer(200, headers.merging(["Content-Length": "9"]) { $1 }, "a kit")
      case .tooLarge: try exchange.answer(200, headers, "a kitten that has eaten a lot")
      case .unacceptableStatus: try exchange.answer(503, headers.merging(["X-Api-Key": "secret"]) { $1 }, "no")
      case .tooManyRedirects: try exchange.answer(302, headers.merging(["Location": "/there?secret"]) { $1 })
      case .invalidRedirect: try exchange.answer(302, ["Location": "ftp://secret:secret@kitten.example/?secret#secret"])
      default: try exchange.answer(200, headers, "no JSON")
      }
    }
    let load = NetworkDataProcedure("load", settings)
    var requests = [Self.request]
    if kind == .invalidRequest {
      requests[0].allHTTPHeaderFields?["X-Api-Key"] = "secret\n"
      requests.append(Self.request)
      requests[1].url = nil
      requests[1].httpBody = Data("secret".utf8)
    }
    for request in requests {
      let thrown = await networkError { [settings] in
        switch kind {
        case .fileFailed:
          _ = try await NetworkDownloadProcedure(to: URL(filePath: "/missing/folder/kitten"), settings)(request)
        case .undecodable: _ = try await load.json([Int].self)(request)
        case .unacceptableStatus:
          var resilience = NetworkResilience()
          resilience.maxAttempts = 1
          let last = await networkError { try await load.resilient(resilience)(request) }
          #expect(!dumped(try #require(last)).contains("secret"))
          _ = try await load(request)
        default: _ = try await load(request)
        }
      }
      let error = try #require(thrown)
      #expect(error.kind == kind)
      for value in [error, error.request, error.response as Any, error.underlying as Any] as [Any] {
        #expect(!dumped(value).contains("secret"), "\(dumped(value))")
      }
      #expect(error.request.url?.absoluteString ?? "" != Self.request.url?.absoluteString)
      if kind == .unacceptableStatus { #expect(error.response?.value(forHTTPHeaderField: "Retry-After") == "7") }
      if kind != .undecodable { #expect(error.request.allHTTPHeaderFields == ["Accept": "text/cat"]) }
    }
  }

  @Test("No error for an accepted response contains a field that the policy lists as a credential")
  func acceptedResponses() async throws {
    var settings = Self.settings
    settings.transport = ScriptedTransport { exchange, _ in
      let status = exchange.request.url?.path == "/kitten" ? 503 : 200
      try exchange.answer(status, ["X-API-Key": "secret", "Retry-After": "7"], "no JSON")
    }
    let (load, upload) = (NetworkDataProcedure("load", settings), NetworkUploadProcedure("upload", settings))
    let folder = try TemporaryFolder()
    let download = NetworkDownloadProcedure(to: folder.url.appending(path: "kitten"), settings)
    var resilience = NetworkResilience()
    resilience.maxAttempts = 1
    let body = HTTPPayloadRequest(.data(Data()), Self.request)
    var other = Self.request
    other.url = URL(string: "https://kitten.example/other")
    let errors = [
      await networkError { try await load.resilient(resilience)(Self.request) },
      await networkError { try await upload.resilient(resilience)(body) },
      await networkError { try await download.resilient(resilience)(Self.request) },
      await networkError { try await load.json([Int].self)(Self.request) },
      await networkError { [other] in try await load.json([Int].self)(other) },
      await networkError { try await upload(body).map { $0 + $0 }.decoded(as: [Int].self) },
    ]
    for error in errors {
      let error = try #require(error)
      #expect(error.response?.value(forHTTPHeaderField: "Retry-After") == "7")
      #expect(!dumped(error).contains("secret"), "\(dumped(error))")
    }
  }

  @Test("The events of a refused token request contain no part of the response")
  func refusedToken() async throws {
    var load = NetworkDataProcedure("load")
    load.settings.transport = ScriptedTransport { exchange, _ in
      try exchange.answer(401, ["Set-Cookie": "secret"], "secret")
    }
    var configuration = OAuthConfiguration(
      tokenURL: URL(string: "https://kitten.example/token")!, clientID: "me", clientSecret: "secret")
    configuration.transport = ScriptedTransport { exchange, _ in
      try exchange.answer(200, [:], #"{"access_token": "secret", "token_type": "Bearer"}"#)
    }
    let authorized = load.authorized(by: WebServiceCapability("kittens", configuration))
    let handle = PausedTime().queue.add(authorized, input: Self.request)
    #expect(try await handle.value.status == 401)
    let events = await handle.allEvents()
    #expect(events.contains { $0.kind == .retrying })
    #expect(!dumped(events).contains("secret"))
  }

  @Test("An error does not contain the page of a failing token endpoint, which may repeat the request")
  func failingEndpoint() async throws {
    var configuration = OAuthConfiguration(
      tokenURL: URL(string: "https://kitten.example/token")!, clientID: "me", clientSecret: "secret")
    configuration.resilience.maxAttempts = 1
    configuration.transport = ScriptedTransport { exchange, _ in
      try exchange.answer(500, [:], "client_secret=secret")
    }
    let service = WebServiceCapability("kittens", configuration)
    let thrown = await networkError { try await service.requestAuthorization(()) }
    let error = try #require(thrown)
    #expect(error.status == 500)
    #expect(error.body.isEmpty)
    #expect(!dumped(error).contains("secret"))
  }

  @Test("The length of external text in an error is limited")
  func bounded() async throws {
    let long = String(repeating: "k", count: 100_000)
    var settings = TransferSettings()
    settings.transport = ScriptedTransport { exchange, _ in try exchange.answer(302, ["Location": "ftp://\(long)"]) }
    let load = NetworkDataProcedure("load", settings)
    let redirect = await networkError { try await load(URLRequest(url: URL(string: "http://kitten.example/")!)) }
    #expect(redirect?.kind == .invalidRedirect)
    let path = await networkError { try await load(URLRequest(url: URL(string: "http://kitten.example/\(long)")!)) }
    let name = await networkError {
      try await load(URLRequest(URL(string: "http://a/")!, headers: [long: "a\nb"]))
    }
    let method = await networkError { try await load(URLRequest(URL(string: "http://a/")!, long + " ")) }
    for error in [redirect, path, name, method] { #expect(try #require(error).description.count < 1_000) }
    settings.transport = ScriptedTransport { exchange, _ in try exchange.answer(200, [:], #"{"\#(long)": "\#(long)"}"#)
    }
    let json = NetworkDataProcedure("load", settings).json([String: Int].self)
    let decoding = await networkError { try await json(URLRequest(url: URL(string: "http://kitten.example/")!)) }
    #expect(try #require(decoding).description.count < 1_000)
  }
}
