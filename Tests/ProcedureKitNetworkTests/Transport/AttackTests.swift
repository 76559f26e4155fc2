import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests hostile servers, redirects and environments with libcurl.
@Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct AttackTests {
  private static func hasIPv6() -> Bool { (try? LoopbackServer(isIPv6: true) { _ in .ok("") })?.stop() != nil }

  private func load(
    _ request: URLRequest, _ change: (inout CurlTransport.Configuration) -> Void = { _ in }
  ) async throws -> HTTPPayloadResponse<Data> {
    var configuration = CurlTransport.Configuration()
    change(&configuration)
    var load = NetworkDataProcedure()
    load.settings.transport = try #require(CurlTransport(configuration))
    return try await load(request)
  }

  @Test(
    "An IPv6 address can be loaded, and redirects between both kinds of addresses drop credentials",
    .enabled(if: hasIPv6()))
  func ipv6() async throws {
    let old = try LoopbackServer { .ok($0.headers["Authorization"] ?? "none") }
    defer { old.stop() }
    let new = try LoopbackServer(isIPv6: true) { request in
      request.path == "/" ? .ok(request.headers["Host"] ?? "") : .redirect(to: old.url("/").absoluteString)
    }
    defer { new.stop() }
    #expect(try await load(URLRequest(new.url("/"))).text == "[::1]:\(new.port)")
    #expect(try await load(URLRequest(new.url("/old"), headers: ["Authorization": "secret"])).text == "none")
  }

  @Test("A response that trickles without a pause ends after the total time", arguments: ["/head", "/body", "/end"])
  func trickles(_ path: String) async throws {
    let head = "HTTP/1.1 200 OK\r\n"
    let chunks = "\(head)Transfer-Encoding: chunked\r\n\r\n"
    let long = String(repeating: "x", count: 1 << 20)
    let (start, rest) =
      switch path {
      case "/head": (head, String(repeating: "X: y\r\n", count: 1 << 16))
      case "/body": ("\(head)Content-Length: \(1 << 20)\r\n\r\n", long)
      default: ("\(chunks)2\r\nok\r\n0\r\n", String(repeating: "X: y\r\n", count: 1 << 16))
      }
    let server = try LoopbackServer { _ in .garbage(Data((start + rest).utf8)).slow(7, pause: .milliseconds(1)) }
    defer { server.stop() }
    let error = await networkError {
      try await load(URLRequest(server.url(path))) { $0.totalTimeout = .milliseconds(500) }
    }
    #expect(error?.code == .timedOut)
    #expect(try #require(error).description.contains("the transfer took longer than totalTimeout"))
    try await server.waitUntilUnconnected()
  }

  @Test("An endless chunk extension, which delivers no byte, counts as idle time")
  func endlessExtension() async throws {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;"
    let server = try LoopbackServer { _ in
      .garbage(Data((start + String(repeating: "x", count: 1 << 20)).utf8)).slow(100, pause: .milliseconds(1))
    }
    defer { server.stop() }
    var request = URLRequest(server.url("/"))
    request.timeoutInterval = 1
    let error = await networkError { try await load(request) }
    #expect(error?.code == .timedOut)
    #expect(try #require(error).description.contains("the connection was idle for longer than timeoutInterval"))
  }

  @Test("A host that does not respond to a connection attempt exceeds the limit for connecting")
  func connectTimeout() async throws {
    let silent = try SilentPort()
    let url = try #require(URL(string: "http://127.0.0.1:\(silent.port)/"))
    let error = await networkError { try await load(URLRequest(url)) { $0.connectTimeout = .milliseconds(50) } }
    #expect(error?.code == .timedOut)
    #expect(try #require(error).description.contains("no connection was established within connectTimeout"))
  }

  @Test("TLS messages without data, sent without a pause, delay neither other transfers nor a cancellation")
  func tlsFlood() async throws {
    // In the middle of the handshake, "HelloRequest" is ignored.
    let flood = try FloodingServer([0x16, 3, 3, 0, 4] + [0, 0, 0, 0])
    defer { flood.stop() }
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    var load = NetworkDataProcedure()
    load.settings.transport = try #require(CurlTransport())
    let url = try #require(URL(string: "https://127.0.0.1:\(flood.port)/"))
    let attacked = Task { [load] in try await load(URLRequest(url: url)) }
    await flood.waitUntilFlooding()
    #expect(try await load(URLRequest(server.url("/"))).text == "a kitten")
    attacked.cancel()
    await #expect(throws: CancellationError.self) { try await attacked.value }
    #expect(!flood.isOver)
  }

  @Test("The key exchange whose prime the server chooses, so that a handshake can take a second, is not offered")
  func cipherSuites() async throws {
    let listening = try ListeningSocket(backlog: 1)
    defer { close(listening.descriptor) }
    let url = try #require(URL(string: "https://127.0.0.1:\(listening.port)/"))
    async let error = networkError { try await load(URLRequest(url: url)) }
    let hello = await withCheckedContinuation { continuation in
      Thread.detachNewThread { [descriptor = listening.descriptor] in
        let client = accept(descriptor, nil, nil)
        var buffer = [UInt8](repeating: 0, count: 4_000)
        let count = recv(client, &buffer, buffer.count, 0)
        close(client)
        continuation.resume(returning: Array(buffer.prefix(max(count, 0))))
      }
    }
    #expect(await error?.kind == .transferFailed)
    // The list follows the headers of the record and the message (9 bytes), the version (2), the random bytes (32) and the session.
    let start = 44 + Int(try #require(hello.dropFirst(43).first))
    try #require(hello.count > start + 2)
    let list = hello.dropFirst(start + 2).prefix(Int(hello[start]) << 8 | Int(hello[start + 1]))
    let suites = Set(
      zip(list, list.dropFirst()).enumerated().filter { $0.offset.isMultiple(of: 2) }.map {
        Int($0.element.0) << 8 | Int($0.element.1)
      })
    // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    #expect(suites.contains(0xc02f))
    // The suites of OpenSSL whose names start with TLS_DHE_RSA.
    #expect(suites.isDisjoint(with: [0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0xccaa]))
  }

  @Test(
    "If a server refuses a body that is still being produced, its response is the result",
    arguments: [nil, 1_000_000] as [Int64?])
  func refusedBody(_ count: Int64?) async throws {
    let server = try LoopbackServer(beforeBody: { _ in .status(403, body: Data("no".utf8)) }, handler: { _ in .ok("") })
    defer { server.stop() }
    let (pieces, piece) = AsyncStream.makeStream(of: Data.self)
    piece.yield(Data("a kitten".utf8))
    var upload = NetworkUploadProcedure()
    upload.settings.transport = try #require(CurlTransport())
    let stream = HTTPBodyStream(byteCount: count) { pieces }
    let response = try await upload(HTTPPayloadRequest(.stream(stream), to: server.url("/")))
    #expect(response.status == 403)
    #expect(response.text == "no")
    withExtendedLifetime(piece) {}
  }

  @Test(
    "A field that Foundation reads itself is limited to 8 KB",
    arguments: ["Content-Type", "Content-Disposition"])
  func longFields(_ name: String) async throws {
    let value = "attachment; filename=\"" + String(repeating: #"\é"#, count: 10_000)
    let server = try LoopbackServer { _ in .ok("", headers: [name: value, "X-Long": value]) }
    defer { server.stop() }
    let response = try await load(URLRequest(server.url("/")))
    #expect(response.header(name)?.hasPrefix("attachment; filename=") == true)
    #expect(try #require(response.header(name)).utf8.count <= 8_192 + 2)
    #expect(response.header("X-Long") == value)
  }

  #if os(Linux)
    @Test("A libcurl thread that cannot be woken for lack of descriptors soon starts the next transfer")
    func unwakeable() async {
      await #expect(processExitsWith: .success) {
        let server = try LoopbackServer { _ in .ok("a kitten") }
        defer { server.stop() }
        // This call loads the libraries of the first transfer. It opens no connection, whose end would later free a descriptor.
        let refused = try RefusingPort()
        _ = await networkError { try await NetworkDataProcedure()(URLRequest(refused.url("/"))) }
        var load = NetworkDataProcedure()
        load.settings.transport = try #require(CurlTransport())
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        var descriptors: [Int32] = []
        while case let descriptor = dup(0), descriptor >= 0 { descriptors.append(descriptor) }
        let error = await networkError { [load] in try await load(URLRequest(server.url("/"))) }
        #expect(error?.kind == .transferFailed)
        for descriptor in descriptors { close(descriptor) }
        // If it were not woken, the thread would sleep for half a minute before each transfer. On a busy machine, one transfer may take
        // long, but not all.
        var fastest = Duration.seconds(30)
        for _ in 0..<5 where fastest >= .seconds(15) {
          let start = ContinuousClock.now
          #expect(try await load(URLRequest(server.url("/"))).text == "a kitten")
          fastest = min(fastest, ContinuousClock.now - start)
        }
        #expect(fastest < .seconds(15))
      }
    }
  #endif

  @Test("The Expect header is not sent, because libcurl would send the request twice after a 417")
  func expectation() async throws {
    let server = try LoopbackServer(
      beforeBody: { $0.headers["Expect"] == nil ? nil : .status(417) }, handler: { .ok($0.body) })
    defer { server.stop() }
    let request = URLRequest(server.url("/"), "POST", headers: ["Expect": "100-continue"], body: "meow")
    #expect(try await load(request).text == "meow")
    #expect(server.requests.count == 1)
  }

  @Test(
    "A method that contains a line break is refused",
    arguments: ["GET / HTTP/1.1\r\nX: y\r\n\r\nGET", "GET ", "", "G\0T"])
  func methods(_ method: String) async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    var request = URLRequest(server.url("/"))
    request.httpMethod = method
    // Foundation may have refused or changed the method.
    guard request.httpMethod == method else { return }
    let exchange = HTTPExchange(request, onResponse: { _ in }, onData: { _ in })
    let transport = try #require(CurlTransport())
    let error = await networkError { try await transport.perform(exchange) }
    #expect(error?.kind == .invalidRequest)
    #expect(server.requests.isEmpty)
  }

  @Test(
    "Credentials in the address of a redirect do not appear in errors",
    arguments: ["//me:secret@HOST/gone", "http://me:secret@HOST/gone?secret"])
  func credentialsOfRedirects(_ location: String) async throws {
    let other = try LoopbackServer { _ in .resets }
    defer { other.stop() }
    let server = try LoopbackServer { _ in .redirect(to: location.replacing("HOST", with: "127.0.0.1:\(other.port)")) }
    defer { server.stop() }
    let error = try #require(
      await networkError { try await load(URLRequest(server.url("/"), headers: ["Authorization": "own-token"])) })
    #expect(other.requests.allSatisfy { $0.headers["Authorization"] != "own-token" })
    #expect(other.requests.count > 0)
    var text = "\(error) \(error.request) \(error.localizedDescription)"
    dump(error, to: &text)
    #expect(!text.contains("secret") && !text.contains("own-token"))
  }

  #if os(Linux)
    @Test("An endless response of a proxy to CONNECT fails, and stalls no other transfer")
    func endlessProxyResponse() async {
      await #expect(processExitsWith: .success) {
        // The body of the 407, which libcurl ignores, is the same head again and again.
        let flood = try FloodingServer(Array("HTTP/1.1 407 No\r\nContent-Length: \(1 << 60)\r\n\r\n".utf8))
        defer { flood.stop() }
        let server = try LoopbackServer { _ in .ok("a kitten") }
        defer { server.stop() }
        setenv("https_proxy", "http://127.0.0.1:\(flood.port)/", 1)
        setenv("no_proxy", "127.0.0.1", 1)
        var settings = TransferSettings()
        settings.transport = try #require(CurlTransport())
        let load = NetworkDataProcedure("load", settings)
        async let attacked = networkError { try await load(URLRequest(URL(string: "https://kitten.invalid/")!)) }
        await flood.waitUntilFlooding()
        #expect(try await load(URLRequest(server.url("/"))).text == "a kitten")
        let error = await attacked
        #expect(error?.kind == .transferFailed)
        #expect(error?.code == .dataLengthExceedsMaximum)
        #expect(!flood.isOver)
      }
    }

    @Test("Proxies are read from the environment as in curl, and receive the same host as the program")
    func proxies() async {
      await #expect(processExitsWith: .success) {
        let proxy = try LoopbackServer { request in
          guard request.method == "CONNECT" else { return .ok(request.path) }
          return .status(request.path.hasPrefix("gone") ? 502 : 407, headers: ["X-Kitten": "Mia"])
        }
        defer { proxy.stop() }
        let server = try LoopbackServer { .ok("direct \($0.path)") }
        defer { server.stop() }
        var settings = TransferSettings()
        settings.transport = try #require(CurlTransport())
        let load = NetworkDataProcedure("load", settings)
        // A variable that a request to a CGI program can set is not used as a proxy.
        setenv("HTTP_PROXY", "http://127.0.0.1:1/", 1)
        #expect(try await load(URLRequest(server.url("/a"))).text == "direct /a")
        setenv("http_proxy", "http://me:secret@proxy.invalid/", 1)
        setenv("no_proxy", "127.0.0.1", 1)
        let lost = await networkError { try await load(URLRequest(URL(string: "http://kitten.invalid/")!)) }
        #expect(lost?.code == .cannotFindHost)
        #expect(lost?.description.contains("the proxy was not found") == true)
        setenv("http_proxy", "http://me:secret@127.0.0.1:\(proxy.port)/", 1)
        setenv("https_proxy", "http://me:secret@127.0.0.1:\(proxy.port)/", 1)
        setenv("no_proxy", "127.0.0.1", 1)
        #expect(try await load(URLRequest(server.url("/b"))).text == "direct /b")
        #expect(try await load(URLRequest(URL(string: "http://kitten.invalid/c")!)).text == "http://kitten.invalid/c")
        // The head from a proxy that opens no tunnel is not the head of the server's response.
        let error = await networkError { try await load(URLRequest(URL(string: "https://kitten.invalid/d")!)) }
        #expect(error?.kind == .transferFailed)
        #expect(error?.response == nil)
        #expect(error?.code == .userAuthenticationRequired)
        #expect(error?.description.contains("status 407") == true)
        #expect(error?.description.contains("secret") == false)
        #expect(proxy.requests.last?.method == "CONNECT")
        let gone = await networkError { try await load(URLRequest(URL(string: "https://gone.invalid/")!)) }
        #expect(gone?.code == .cannotConnectToHost)
        #expect(gone?.description.contains("the proxy refused to connect to the host (status 502)") == true)

        // libcurl parses addresses itself. It must find the same host as Foundation, which the checks of redirects use.
        let texts = [
          "http://a.invalid#@b.invalid/", "http://a.invalid\\@b.invalid/", "http://a@b.invalid@c.invalid/",
          "http://a.invalid;b.invalid/", "http://a.invalid%40b.invalid/", "http://a.invalid%2f@b.invalid/",
          "http://a.invalid:80#@b.invalid/", "http://a.invalid?@b.invalid/", "http://a.invalid:0080/",
          "http://a.invalid:/",
          "http:///a.invalid/", "http://a.invalid/../@b.invalid", "http://A.INVALID./",
          "http://a.invalid%00.b.invalid/",
          "http://a:b@c:80@d.invalid/", "http://[::2]@a.invalid/", "http://ａ.invalid/", "http://a.invalid\t.b.invalid/",
        ]
        for text in texts {
          guard let url = URL(string: text), let host = url.host, !host.isEmpty else { continue }
          guard let seen = try? await load(URLRequest(url)).text else { continue }
          #expect(URL(string: seen)?.comparable == url.comparable, "\(text): \(seen)")
        }
      }
    }
  #endif
}

extension URL {
  /// Returns the host without regard to case and the dot of the root.
  fileprivate var comparable: String? { host?.lowercased().trimmingCharacters(in: ["."]) }
}
