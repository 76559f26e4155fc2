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

@Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct CurlTransportTests {
  private struct Broken: Error {}

  private let transport: CurlTransport

  init() throws { transport = try #require(CurlTransport()) }

  private func load(_ request: URLRequest) async throws -> HTTPPayloadResponse<Data> {
    var load = NetworkDataProcedure()
    load.settings.transport = transport
    return try await load(request)
  }

  private func upload(_ stream: HTTPBodyStream, to url: URL) async throws -> HTTPPayloadResponse<Data> {
    var upload = NetworkUploadProcedure()
    upload.settings.transport = transport
    return try await upload(HTTPPayloadRequest(.stream(stream), to: url))
  }

  @Test("libcurl is the default, unless the environment names URLSession")
  func isDefault() {
    let choice = ProcessInfo.processInfo.environment["PROCEDUREKIT_HTTP_TRANSPORT"]?.lowercased()
    #expect((DefaultHTTPTransport.shared is CurlTransport) == (choice != "urlsession"))
  }

  @Test("The fields of the head are read as text, joined, and without regard to case")
  func fields() async throws {
    let head = "HTTP/1.1 200 OK\r\nx-one: 1\r\nX-One:2 \r\nX-Folded: a\r\n\tb\r\nX-Latin: M"
    let rest = "\r\nX-Empty:\r\nX-Kitten: Mia 🐈\r\nContent-Length: 0\r\n\r\n"
    let server = try LoopbackServer { _ in .garbage(Data(head.utf8) + [0xe9] + Data(rest.utf8)) }
    defer { server.stop() }
    let response = try await load(URLRequest(server.url("/")))
    #expect(response.header("X-ONE") == "1, 2")
    #expect(response.header("x-folded") == "a b")
    #expect(response.header("X-Latin") == "Mé")
    #expect(response.header("X-Kitten") == "Mia 🐈")
    #expect(response.header("X-Empty") == "")
  }

  @Test("A certificate path that contains a NUL character is an error, and is not shortened to the part before it")
  func certificates() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    for file in [URL(fileURLWithPath: "/dev/null\0x"), try #require(URL(string: "file:///dev/null%00x"))] {
      var configuration = CurlTransport.Configuration()
      configuration.trustedCertificates = file
      var load = NetworkDataProcedure()
      load.settings.transport = try #require(CurlTransport(configuration))
      await #expect(throws: NetworkError.self) { try await load(URLRequest(server.url("/"))) }
    }
    #expect(server.requests.isEmpty)
  }

  @Test("The time limits of a transport can have any length")
  func extremes() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    for duration in [Duration.seconds(Int64.max), Duration(attoseconds: .max)] {
      var configuration = CurlTransport.Configuration()
      (configuration.connectTimeout, configuration.totalTimeout) = (duration, duration)
      var load = NetworkDataProcedure()
      load.settings.transport = try #require(CurlTransport(configuration))
      #expect(try await load(URLRequest(server.url("/"))).payload == Data("a kitten".utf8))
    }
  }

  @Test("Fields that Foundation reads itself can be cut at any position")
  func oddFields() async throws {
    let values = [
      #"attachment; filename="a\"b;c.png"; filename*=UTF-8''%e2%82%ac"#, #"text/html; charset="utf-8"; x=y"#,
    ]
    let prefixes = values.flatMap { value in (0...value.count).map { String(value.prefix($0)) } }
    let server = try LoopbackServer { request in
      let value = prefixes[Int(request.query ?? "") ?? 0]
      return .ok("a kitten", headers: ["Content-Disposition": value, "Content-Type": value])
    }
    defer { server.stop() }
    for index in prefixes.indices {
      let response = try await load(URLRequest(server.url("/?\(index)")))
      #expect(response.text == "a kitten")
      #expect(response.response.statusCode == 200)
      #expect(response.header("Content-Type") == prefixes[index].trimmingCharacters(in: .whitespaces))
    }
  }

  @Test("Foundation's object has the status, the address and the fields of the response, and is created once")
  func object() async throws {
    let server = try LoopbackServer { _ in .status(203, headers: ["X-Kitten": "Mia"], body: Data("a kitten".utf8)) }
    defer { server.stop() }
    let response = try await load(URLRequest(server.url("/kitten")))
    let object = response.response
    #expect(response.header("x-kitten") == "Mia")
    #expect(object.value(forHTTPHeaderField: "x-kitten") == "Mia")
    #expect(object.statusCode == 203)
    #expect(response.status.rawValue == 203)
    #expect(object.url == server.url("/kitten"))
    #expect(object.expectedContentLength == 8)
    #expect(response.map { $0.count }.response === object)
    #expect(response == HTTPPayloadResponse(Data("a kitten".utf8), object))
  }

  @Test("A request is not affected by the methods, fields, bodies and failures of earlier requests")
  func nothingStays() async throws {
    let server = try LoopbackServer(keepsConnections: true) { request in
      request.path == "/cut" ? .ok("a kitten").truncated(after: 3) : .ok("a kitten")
    }
    defer { server.stop() }
    let plain = URLRequest(server.url("/"))
    #expect(try await load(plain).text == "a kitten")
    for method in ["HEAD", "DELETE", "OPTIONS", "POST", "PUT"] {
      var request = URLRequest(server.url("/other"), method, headers: ["X-Kitten": "Mia", "Range": "bytes=0-"])
      if method == "POST" || method == "PUT" { request.httpBody = Data("meow".utf8) }
      _ = try await load(request)
      _ = try? await load(URLRequest(server.url("/cut")))
      #expect(try await load(plain).text == "a kitten")
    }
    let requests = server.requests(to: "/")
    let names = requests.map { request in request.headers.fields.map(\.name).sorted() }
    #expect(requests.count == 6)
    #expect(names.allSatisfy { $0 == names[0] }, "\(names)")
    #expect(requests.allSatisfy { $0.method == "GET" && $0.body.isEmpty })
  }

  @Test("Addresses with another spelling of the scheme are accepted, and an empty field is sent")
  func requests() async throws {
    let server = try LoopbackServer { .ok($0.headers["X-Empty"] ?? "none") }
    defer { server.stop() }
    let url = try #require(URL(string: "HTTP://127.0.0.1:\(server.port)/"))
    #expect(try await load(URLRequest(url, headers: ["X-Empty": ""])).text == "")
    #expect(server.requests.first?.headers["Expect"] == nil)
    #expect(server.requests.first?.headers["User-Agent"]?.hasPrefix("ProcedureKit") == true)
  }

  @Test(
    "A field that would become two fields is refused, even if no procedure has checked the request",
    arguments: ["\r\n", "\n", "\0"])
  func injection(_ end: String) async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let request = URLRequest(server.url("/"), headers: ["Authorization": "token\(end)X: y"])
    let exchange = HTTPExchange(request, onResponse: { _ in }, onData: { _ in })
    do {
      try await transport.perform(exchange)
      // Foundation itself may refuse the value.
      #expect(server.requests.allSatisfy { $0.headers["X"] == nil && $0.headers["Authorization"] == nil })
    } catch {
      #expect((error as? NetworkError)?.kind == .invalidRequest)
      #expect(server.requests.isEmpty)
    }
  }

  @Test("A stream is sent in pieces, with and without a length, and again after a redirect", arguments: [nil, 300_000])
  func streams(_ count: Int64?) async throws {
    let server = try LoopbackServer { request in
      request.path == "/old" ? .redirect(to: "/new", status: 307) : .ok("\(request.body.count)")
    }
    defer { server.stop() }
    let stream = HTTPBodyStream(byteCount: count) {
      AsyncStream { continuation in
        for _ in 1...3 { continuation.yield(Data(count: 100_000)) }
        continuation.finish()
      }
    }
    #expect(try await upload(stream, to: server.url("/old")).text == "300000")
    #expect(server.requests.map(\.body.count) == [300_000, 300_000])
    #expect(server.requests.last?.headers["Content-Length"] == count.map { "\($0)" })
  }

  @Test("A stream that throws, and a stream with an unexpected length, end the transfer", arguments: [0, 1, 5])
  func brokenStreams(_ count: Int64) async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let stream = HTTPBodyStream(byteCount: count == 0 ? nil : count) {
      AsyncThrowingStream { continuation in
        continuation.yield(Data("abc".utf8))
        continuation.finish(throwing: count == 0 ? Broken() : nil)
      }
    }
    let error = await networkError { try await upload(stream, to: server.url("/")) }
    if count == 0 { #expect(error?.underlying is Broken) } else { #expect(error?.kind == .fileFailed) }
    try await server.waitUntilUnconnected()
  }

  @Test("A pause in a body's stream does not count as silence of the peer, and a cancellation ends the upload")
  func endlessStream() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let (pieces, piece) = AsyncStream.makeStream(of: Data.self)
    let started = Mutex(false)
    let stream = HTTPBodyStream {
      started.withLock { $0 = true }
      return pieces
    }
    let task = Task { try await upload(stream, to: server.url("/")) }
    piece.yield(Data("abc".utf8))
    try await eventually { started.withLock { $0 } && server.openConnections > 0 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await server.waitUntilUnconnected()
  }

  @Test(
    "An error that is thrown by a function of the exchange ends the transfer, and is rethrown",
    arguments: ["/head", "/body"])
  func exchange(_ path: String) async throws {
    let server = try LoopbackServer { _ in .endless() }
    defer { server.stop() }
    let exchange = HTTPExchange(
      URLRequest(server.url(path)), onResponse: { _ in if path == "/head" { throw Broken() } },
      onData: { _ in throw Broken() })
    await #expect(throws: Broken.self) { try await transport.perform(exchange) }
    try await server.waitUntilUnconnected()
  }

  @Test("A task that has already been cancelled sends nothing")
  func cancelledBefore() async throws {
    let server = try LoopbackServer { _ in .neverAnswers }
    defer { server.stop() }
    let exchange = HTTPExchange(URLRequest(server.url("/")), onResponse: { _ in }, onData: { _ in })
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await transport.perform(exchange)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(server.requests.isEmpty)
  }

  @Test("Transfers beyond the number of connections to a host wait, and all end")
  func perHost() async throws {
    let server = try LoopbackServer { .ok($0.path) }
    defer { server.stop() }
    var configuration = CurlTransport.Configuration()
    configuration.maxConnectionsPerHost = 3
    var load = NetworkDataProcedure()
    load.settings.transport = try #require(CurlTransport(configuration))
    let paths = (1...40).map { "/\($0)" }
    let texts = try await ProcedureQueue("network").map(
      paths, with: ProcedureTask { [load] in try await load(URLRequest(server.url($0))).text })
    #expect(texts == paths)
    #expect(server.peakRequests <= 3)
  }

  /// The result of a request, with the response and the request as the server received it.
  private struct Outcome: Equatable {
    var result: String
    var fields: [String: String?]
    var seen: [String]
  }

  @Test("The same requests give equal results through libcurl and through URLSession")
  func equality() async throws {
    let (gzip, names) = (BadAnswer.gzip, ["X-One", "Content-Type", "Content-Length", "Content-Encoding", "ETag"])
    let server = try LoopbackServer { request in
      switch request.path {
      case "/chunks": .ok(String(repeating: "kitten", count: 9_000)).chunked(by: 7_000)
      case "/close": .ok("a kitten").withoutLength()
      case "/gzip": .ok(gzip, headers: ["Content-Encoding": "gzip"])
      case "/204": .status(204)
      case "/304": .status(304, headers: ["ETag": "\"1\""])
      case "/404": .status(404, headers: ["X-One": "1"], body: Data("none".utf8))
      case "/redirect": .redirect(to: "/end")
      case "/307": .redirect(to: "/end", status: 307)
      case "/loop": .redirect(to: "/loop")
      case "/ftp": .redirect(to: "ftp://kitten/")
      case "/truncated": .ok("0123456789").truncated(after: 4)
      case "/reset": .resets
      case "/garbage": .garbage()
      case "/long": .ok(Data(count: 2_000_000))
      default: .ok(request.body, headers: ["Content-Type": "text/cat"])
      }
    }
    defer { server.stop() }
    let paths = [
      "/", "/?a=b&c=%20", "/a%2fb/%C3%A9", "/chunks", "/close", "/gzip", "/204", "/304", "/404", "/redirect", "/loop",
      "/ftp", "/truncated", "/reset", "/garbage", "/long",
    ]
    var requests = paths.map { URLRequest(server.url($0)) }
    requests += ["HEAD", "DELETE", "OPTIONS"].map { URLRequest(server.url("/"), $0) }
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
      requests += ["/", "/redirect", "/307"].map { URLRequest(server.url($0), method, body: "meow") }
    }
    requests.append(
      URLRequest(server.url("/"), "POST", headers: ["Content-Type": "text/cat", "X-One": "1"], body: "meow"))
    for request in requests {
      var outcomes: [Outcome] = []
      for transport in [transport as any HTTPTransport, URLSessionTransport.shared] {
        let before = server.requests.count
        var load = NetworkDataProcedure()
        load.settings.transport = transport
        load.settings.sizeLimit = 1_000_000
        var outcome = Outcome(result: "", fields: [:], seen: [])
        do {
          let response = try await load(request)
          outcome.result = "\(response.status) \(response.text)"
          for name in names { outcome.fields[name] = response.header(name) }
        } catch let error as NetworkError {
          outcome.result = "\(error.kind)"
        }
        outcome.seen = server.requests[before...].map { seen in
          // For a request without a body, a length of 0 is equivalent to no length.
          let length = seen.headers["Content-Length"] ?? "0"
          let fields = ["Content-Type", "X-One", "Accept"].map { seen.headers[$0] ?? "-" } + [length]
          return "\(seen.method) \(seen.path)?\(seen.query ?? "") \(fields) \(seen.body.count)"
        }
        outcomes.append(outcome)
      }
      #expect(outcomes[0] == outcomes[1], "\(request.httpMethod ?? "") \(request.url?.path ?? "")")
    }
  }
}
