import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct WebServiceTests {
  private func load(_ service: WebServiceCapability) -> ProcedureTask<URLRequest, HTTPPayloadResponse<Data>> {
    NetworkDataProcedure("load").authorized(by: service)
  }

  @Test("The client requests a token once with its credentials, and sends the token with each request")
  func clientCredentials() async throws {
    let server = try TokenServer()
    defer { server.server.stop() }
    var configuration = server.configuration
    configuration.scopes = ["read", "write:all"]
    let load = load(WebServiceCapability("kittens", configuration))
    for _ in 1...3 { #expect(try await load(URLRequest(server.server.url("/kitten"))).text == "a kitten") }
    #expect(server.forms == ["grant_type=client_credentials&scope=read+write%3Aall"])
    let basic = Data("me%3A+%26+you:secret-of+client".utf8).base64EncodedString()
    #expect(server.server.requests(to: "/token").first?.headers["Authorization"] == "Basic \(basic)")
    #expect(server.tokens() == Array(repeating: "Bearer secret-token-1", count: 3))
  }

  @Test("The credentials can be sent in the body, and a public client refreshes its token without a secret")
  func otherClients() async throws {
    let server = try TokenServer(rotates: true)
    defer { server.server.stop() }
    var configuration = server.configuration
    configuration.sendsSecretInBody = true
    _ = try await load(WebServiceCapability("a", configuration))(URLRequest(server.server.url("/kitten")))
    _ = try await load(WebServiceCapability("b", server.refreshing()))(URLRequest(server.server.url("/kitten")))
    #expect(
      server.forms == [
        "grant_type=client_credentials&client_id=me%3A+%26+you&client_secret=secret-of+client",
        "grant_type=refresh_token&refresh_token=secret-refresh-0&client_id=me",
      ])
    #expect(server.server.requests(to: "/token").allSatisfy { $0.headers["Authorization"] == nil })
  }

  @Test("Fifty requests that need a token share one token request")
  func shared() async throws {
    let gate = ServerGate()
    let server = try TokenServer(gate: gate)
    defer { server.server.stop() }
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 4)
    let load = load(WebServiceCapability("kittens", server.configuration))
    let handles = (1...50).map { _ in queue.add(load, input: URLRequest(server.server.url("/kitten"))) }
    try await gate.waitForArrivals()
    gate.open()
    for handle in handles { #expect(try await handle.value.text == "a kitten") }
    #expect(server.forms.count == 1)
  }

  @Test("A 401 leads to one new token for all requests, and to a second attempt of each", arguments: [true, false])
  func rejected(_ isStrict: Bool) async throws {
    let server = try TokenServer()
    defer { server.server.stop() }
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 8)
    var strict = NetworkDataProcedure("load")
    if isStrict { strict.settings.acceptsStatus = \.isSuccess }
    let load = strict.authorized(by: WebServiceCapability("kittens", server.configuration))
    _ = try await queue.run(load, input: URLRequest(server.server.url("/kitten")))
    server.revoke()
    let handles = (1...20).map { _ in queue.add(load, input: URLRequest(server.server.url("/kitten"))) }
    for handle in handles { #expect(try await handle.value.text == "a kitten") }
    #expect(server.forms.count == 2)
  }

  @Test(
    "A 401 from another origin after a redirect does not discard the token, and neither does one after a redirect back",
    arguments: [true, false], [true, false])
  func otherOrigin(_ isStrict: Bool, _ leadsBack: Bool) async throws {
    let service = try TokenServer()
    let other = try LoopbackServer { request in
      leadsBack ? .redirect(to: "http://\(request.query ?? "")/back") : .status(401)
    }
    let server = try LoopbackServer { request in
      if request.path == "/back" { return .status(401) }
      return .redirect(to: other.url("/?\(request.headers["Host"] ?? "")").absoluteString)
    }
    defer { for server in [service.server, other, server] { server.stop() } }
    var load = NetworkDataProcedure("load")
    if isStrict { load.settings.acceptsStatus = \.isSuccess }
    let authorized = load.authorized(by: WebServiceCapability("kittens", service.configuration))
    for _ in 1...2 {
      if isStrict {
        #expect(await networkError { try await authorized(URLRequest(server.url("/"))) }?.status == 401)
      } else {
        #expect(try await authorized(URLRequest(server.url("/"))).status == 401)
      }
    }
    #expect(service.forms.count == 1)
    let token = "Bearer secret-token-1"
    let expected = leadsBack ? [token, nil, token, nil] : [token, token]
    #expect(server.requests.map { $0.headers["Authorization"] } == expected)
    #expect(other.requests.map { $0.headers["Authorization"] } == [nil, nil])
  }

  @Test(
    "A service that accepts no token at all is called twice, and its second 401 is the result",
    arguments: [true, false])
  func hopeless(_ isStrict: Bool) async throws {
    let server = try TokenServer(endpoint: { _ in .ok(#"{"access_token": "bad", "token_type": "Bearer"}"#) })
    defer { server.server.stop() }
    var load = NetworkDataProcedure("load")
    if isStrict { load.settings.acceptsStatus = \.isSuccess }
    let authorized = load.authorized(by: WebServiceCapability("kittens", server.configuration))
    let request = URLRequest(server.server.url("/kitten"))
    if isStrict {
      let error = await networkError { try await authorized(request) }
      #expect(error?.status == 401)
      #expect(error?.body == Data("no token".utf8))
      #expect(error?.request.value(forHTTPHeaderField: "Authorization") == nil)
    } else {
      #expect(try await authorized(request).text == "no token")
    }
    #expect(server.tokens() == ["Bearer bad", "Bearer bad"])
    #expect(server.forms.count == 2)
  }

  @Test(
    "A token is renewed before it expires, by the configuration's clock, and a token that does not expire is never renewed"
  )
  func lifetime() async throws {
    for lifetime in [100, nil] {
      let server = try TokenServer(lifetime: lifetime)
      defer { server.server.stop() }
      let clock = VirtualClock()
      var configuration = server.configuration
      configuration.clock = clock
      configuration.margin = .seconds(30)
      let service = WebServiceCapability("kittens", configuration)
      for (seconds, count) in [(0, 1), (69, 1), (1, 2), (69, 2), (1, 3)] {
        clock.advance(by: .seconds(seconds))
        _ = try await load(service)(URLRequest(server.server.url("/kitten")))
        #expect(server.forms.count == (lifetime == nil ? 1 : count))
      }
    }
  }

  @Test("A new refresh token replaces the previous one, and is passed to the program")
  func rotation() async throws {
    let server = try TokenServer(lifetime: 0, rotates: true)
    defer { server.server.stop() }
    let handedOut = Mutex<[String]>([])
    var configuration = server.refreshing()
    configuration.onNewRefreshToken = { token in handedOut.withLock { $0.append(token) } }
    let load = load(WebServiceCapability("kittens", configuration))
    for _ in 1...3 { _ = try await load(URLRequest(server.server.url("/kitten"))) }
    #expect(handedOut.withLock { $0 } == ["secret-refresh-1", "secret-refresh-2", "secret-refresh-3"])
    #expect(server.forms.map { $0.contains("refresh_token=secret-refresh-") } == [true, true, true])
    #expect(server.forms.last?.contains("secret-refresh-2") == true)
  }

  @Test(
    "A refusal and an invalid response are errors that name the service",
    arguments: [
      (
        ServerResponse.status(400, body: Data(#"{"error": "invalid_grant", "error_description": "gone"}"#.utf8)), "gone"
      ),
      (.status(401, body: Data(#"{"error": "invalid_client"}"#.utf8)), "invalid_client"),
      (.status(404), "status 404"), (.redirect(to: "/elsewhere"), "status 302"),
      (.ok("<html>"), "not have the JSON format"),
      (.ok(#"{"access_token": "a", "token_type": "mac"}"#), "of type mac"),
      (.ok(#"{"access_token": "a\r\nX: b", "token_type": "bearer"}"#), "not valid in a header field"),
      (.ok(#"{"token_type": "bearer"}"#), "not have the JSON format"),
    ])
  func refusals(_ response: ServerResponse, _ reason: String) async throws {
    let server = try TokenServer(endpoint: { _ in response })
    defer { server.server.stop() }
    let load = load(WebServiceCapability("kittens", server.configuration))
    do {
      _ = try await load(URLRequest(server.server.url("/kitten")))
      Issue.record("there is no token")
    } catch let error as OAuthError {
      #expect(error.description.hasPrefix("kittens "))
      #expect(error.description.contains(reason))
      #expect(error.code == (error.kind == .refused ? (reason == "gone" ? "invalid_grant" : "invalid_client") : nil))
    }
    #expect(server.tokens() == [])
  }

  @Test(
    "A refusal that repeats what was sent does not reveal the secrets",
    arguments: [
      (400, #"{"error": "invalid_client", "error_description": "TEXT is wrong"}"#),
      (400, #"{"error": "TEXT"}"#), (200, #"{"access_token": "a", "token_type": "TEXT"}"#),
    ], ["secret-of client", "secret-of+client", "secret-refresh-0", "BASIC"])
  func echo(_ answer: (status: Int, body: String), _ text: String) async throws {
    let basic = Data("me%3A+%26+you:secret-of+client".utf8).base64EncodedString()
    let sent = text.replacing("BASIC", with: basic)
    let server = try TokenServer { _ in
      .status(answer.status, body: Data(answer.body.replacing("TEXT", with: sent).utf8))
    }
    defer { server.server.stop() }
    var configuration = server.configuration
    configuration.refreshToken = "secret-refresh-0"
    let load = load(WebServiceCapability("kittens", configuration))
    let error = try #require(await tokenError { try await load(URLRequest(server.server.url("/kitten"))) })
    #expect(error.description.contains("…"))
    var texts = "\(error) \(error.code ?? "")"
    dump(error, to: &texts)
    #expect(!texts.contains(sent))
  }

  @Test(
    "The error of a server is shown without control characters and characters that change the direction of text")
  func hostileRefusal() async throws {
    let body = #"{"error": "a\u001b[2J\u009b\u202e", "error_description": "b\u001b]0;\u0007\u0085\u2028\u2066"}"#
    let server = try TokenServer(endpoint: { _ in .status(400, body: Data(body.utf8)) })
    defer { server.server.stop() }
    let load = load(WebServiceCapability("kittens", server.configuration))
    let error = await tokenError { try await load(URLRequest(server.server.url("/kitten"))) }
    #expect(error?.code == "a [2J ")
    #expect(error?.description == "kittens refused to issue a token: a [2J , b ]0;   .")
  }

  @Test("An address that would reveal the secrets is refused, and a failed token request is a network error")
  func addresses() async throws {
    let insecure = OAuthConfiguration(
      tokenURL: URL(string: "http://kitten.example/token?a=b")!, clientID: "me", clientSecret: "secret")
    let request = URLRequest(URL(string: "http://127.0.0.1:1/")!)
    await #expect { try await load(WebServiceCapability("kittens", insecure))(request) } throws: { error in
      (error as? OAuthError)?.kind == .invalidConfiguration
    }
    let port = try RefusingPort()
    var refusing = OAuthConfiguration(tokenURL: port.url("/token"), clientID: "me", clientSecret: "secret")
    refusing.resilience.backoff = .immediate
    refusing.resilience.attemptTimeout = .seconds(600)
    let error = await networkError { try await load(WebServiceCapability("kittens", refusing))(request) }
    #expect(error?.code == .cannotConnectToHost)
    withExtendedLifetime(port) {}
  }

  @Test("A token request is repeated, but a refresh that may have succeeded is not")
  func retries() async throws {
    for isRefresh in [true, false] {
      let server = try TokenServer(endpoint: { $0.attempt == 1 ? .resets : nil })
      defer { server.server.stop() }
      var configuration = isRefresh ? server.refreshing() : server.configuration
      configuration.resilience.backoff = .immediate
      let load = load(WebServiceCapability("kittens", configuration))
      let error = await networkError { try await load(URLRequest(server.server.url("/kitten"))) }
      #expect(error?.kind == (isRefresh ? .transferFailed : nil))
      #expect(server.forms.count == (isRefresh ? 1 : 2))
    }
  }

  @Test(
    "A request that is waiting for a token can be cancelled without affecting the others", arguments: [true, false])
  func cancel(_ isRefresh: Bool) async throws {
    let gate = ServerGate()
    let server = try TokenServer(gate: gate)
    defer { server.server.stop() }
    let load = load(
      WebServiceCapability("kittens", isRefresh ? server.refreshing() : server.configuration))
    let queue = ProcedureQueue("network")
    let handles = (1...3).map { _ in queue.add(load, input: URLRequest(server.server.url("/kitten"))) }
    try await gate.waitForArrivals()
    handles[0].cancel()
    #expect(await handles[0].outcome.isCancelled)
    gate.open()
    for handle in handles.dropFirst() { #expect(try await handle.value.text == "a kitten") }
    if isRefresh { #expect(server.forms.count == 1) }
    try await server.server.waitUntilUnconnected()
  }

  @Test("As a capability, a service gets the token in a condition, which otherwise fails before the procedure starts")
  func capability() async throws {
    let server = try TokenServer()
    defer { server.server.stop() }
    let service = WebServiceCapability("kittens", server.configuration)
    #expect(try await GetAuthorizationStatus(service)() == .unauthorized)
    let silent = ProcedureTask("ask") { 1 }.condition(.authorized(for: service).silenced())
    await #expect { try await silent() } throws: { ($0 as? ProcedureError)?.kind == .conditionFailed }
    #expect(try await ProcedureTask("ask") { 1 }.condition(.authorized(for: service))() == 1)
    #expect(try await silent() == 1)
    #expect(try await GetAuthorizationStatus(service)() == .authorized)
    #expect(server.forms.count == 1)
  }

  @Test("The priority, name and key of a procedure are kept, and downloads and uploads can be authorized")
  func kinds() async throws {
    let server = try TokenServer()
    defer { server.server.stop() }
    let service = WebServiceCapability("kittens", server.configuration)
    let folder = try TemporaryFolder()
    let download = NetworkDownloadProcedure("fetch", to: folder.file("kitten")).resilient().authorized(by: service)
    let handle = ProcedureQueue.shared.add(download, input: URLRequest(server.server.url("/kitten")))
    #expect(handle.name == "fetch")
    #expect(try String(contentsOf: try await handle.value.payload, encoding: .utf8) == "a kitten")
    let upload = NetworkUploadProcedure().authorized(by: service).resilient()
    #expect(try await upload(HTTPPayloadRequest(.data(Data([1])), to: server.server.url("/kitten"))).text == "a kitten")
  }

  @Test("An empty refresh token does not replace the previous one", arguments: [true, false])
  func emptyRefreshToken(_ isEmpty: Bool) async throws {
    let field = isEmpty ? #", "refresh_token": """# : ""
    let server = try TokenServer(endpoint: { _ in
      .ok(#"{"access_token": "secret", "token_type": "Bearer", "expires_in": 0\#(field)}"#)
    })
    defer { server.server.stop() }
    let handedOut = Mutex<[String]>([])
    var configuration = server.refreshing()
    configuration.onNewRefreshToken = { token in handedOut.withLock { $0.append(token) } }
    let load = load(WebServiceCapability("kittens", configuration))
    for _ in 1...2 { _ = try? await load(URLRequest(server.server.url("/kitten"))) }
    #expect(handedOut.withLock { $0 } == [])
    #expect(server.forms.count >= 2)
    #expect(server.forms.allSatisfy { $0.contains("refresh_token=secret-refresh-0") })
  }

  private static let challenges = [
    [:], ["WWW-Authenticate": "Basic realm=\"kittens\""], ["WWW-Authenticate": "Bearer error=\"invalid_token\""],
    ["WWW-Authenticate": "Digest realm=\"kittens\", nonce=\"1\", qop=\"auth\""],
    ["WWW-Authenticate": "Negotiate, Kitten"],
  ]

  @Test(
    "A 401 from the token endpoint immediately refuses the client, regardless of its challenge", arguments: challenges)
  func refusedClient(_ headers: [String: String]) async throws {
    for body in ["", "<html>", #"{"error": "invalid_client"}"#] {
      let transport = ScriptedTransport { exchange, _ in try exchange.answer(401, headers, body) }
      var configuration = OAuthConfiguration(
        tokenURL: URL(string: "https://kitten.example/token")!, clientID: "me", clientSecret: "secret")
      configuration.transport = transport
      configuration.clock = VirtualClock()
      let service = WebServiceCapability("kittens", configuration)
      let error = await tokenError { try await load(service)(URLRequest(url: URL(string: "https://kitten.example/")!)) }
      #expect(error?.kind == .refused)
      #expect(error?.code == "invalid_client")
      #expect(transport.exchanges.count == 1)
    }
    guard !(TransferSettings().transport is URLSessionTransport) else { return }
    var fields: HeaderFields = [:]
    for (name, value) in headers { fields[name] = value }
    let server = try TokenServer(endpoint: { [fields] _ in .status(401, headers: fields) })
    defer { server.server.stop() }
    let service = WebServiceCapability("kittens", server.configuration)
    let error = await tokenError { try await load(service)(URLRequest(server.server.url("/kitten"))) }
    #expect(error?.code == "invalid_client")
    #expect(server.forms.count == 1)
  }

  @Test("A 401 leads to one new token, regardless of its challenge", arguments: challenges)
  func challenge(_ headers: [String: String]) async throws {
    let server = try TokenServer()
    defer { server.server.stop() }
    var load = NetworkDataProcedure("load")
    load.settings.transport = ScriptedTransport { exchange, number in
      number == 1 ? try exchange.answer(401, headers) : try exchange.answer(200, [:], "a kitten")
    }
    let authorized = load.authorized(by: WebServiceCapability("kittens", server.configuration))
    #expect(try await authorized(URLRequest(url: URL(string: "https://kitten.example/")!)).text == "a kitten")
    #expect(server.forms.count == 2)
    guard !(TransferSettings().transport is URLSessionTransport) else { return }
    var fields: HeaderFields = [:]
    for (name, value) in headers { fields[name] = value }
    let kittens = try LoopbackServer { [fields] in $0.attempt == 1 ? .status(401, headers: fields) : .ok("a kitten") }
    defer { kittens.stop() }
    let real = self.load(WebServiceCapability("kittens", server.configuration))
    #expect(try await real(URLRequest(kittens.url("/"))).text == "a kitten")
    #expect(kittens.requests.map { $0.headers["Authorization"] } == ["Bearer secret-token-3", "Bearer secret-token-4"])
  }

  private func tokenError(_ operation: () async throws -> some Any) async -> OAuthError? {
    do {
      _ = try await operation()
      return nil
    } catch {
      return error as? OAuthError
    }
  }
}
