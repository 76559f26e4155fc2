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

@Suite(.timeLimit(.minutes(10))) struct NetworkUploadTests {
  private static let bytes = Data((0..<1_000_000).map { UInt8($0 % 251) })
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try Self.bytes.write(to: folder.file("kitten"))
  }

  private func body(_ isFile: Bool) -> HTTPBody { isFile ? .file(folder.file("kitten")) : .data(Self.bytes) }

  @Test("Bytes and files are sent, and the response is returned", arguments: [true, false])
  func sends(_ isFile: Bool) async throws {
    let server = try LoopbackServer { request in .ok("\(request.body.count)") }
    defer { server.stop() }
    let seen = Mutex<[NetworkProgress]>([])
    var upload = NetworkUploadProcedure()
    upload.settings.onProgress = { progress in seen.withLock { $0.append(progress) } }
    let request = HTTPPayloadRequest(body(isFile), to: server.url("/"), method: "PUT", contentType: "image/cat")
    #expect(try await upload(request).text == "1000000")
    let received = try #require(server.requests.first)
    #expect(received.body == Self.bytes)
    #expect(received.method == "PUT")
    #expect(received.headers["Content-Type"] == "image/cat")
    let sent = seen.withLock { $0.map(\.bytesSent) }
    #expect(sent == sent.sorted())
    #expect(sent.last == 1_000_000)
  }

  @Test("An empty body, and a value as JSON, are sent")
  func small() async throws {
    let server = try LoopbackServer { request in .ok(request.body) }
    defer { server.stop() }
    let upload = NetworkUploadProcedure()
    #expect(try await upload(HTTPPayloadRequest(.data(Data()), to: server.url("/"))).text == "")
    let json = try HTTPPayloadRequest.json(["b": 1, "a": 2], to: server.url("/")) { $0.outputFormatting = .sortedKeys }
    #expect(try await upload(json).text == #"{"a":2,"b":1}"#)
    #expect(server.requests.last?.headers["Content-Type"] == "application/json")
    #expect(server.requests.last?.method == "POST")
  }

  @Test("A redirect that keeps the method sends the body again", arguments: [true, false])
  func redirect(_ isFile: Bool) async throws {
    let server = try LoopbackServer { request in
      request.path == "/old" ? .redirect(to: "/new", status: 308) : .ok("\(request.body.count)")
    }
    defer { server.stop() }
    let response = try await NetworkUploadProcedure()(HTTPPayloadRequest(body(isFile), to: server.url("/old")))
    #expect(response.text == "1000000")
    #expect(server.requests.count == 2)
  }

  @Test("A further attempt sends the body again", arguments: [true, false])
  func retry(_ isFile: Bool) async throws {
    let server = try LoopbackServer { $0.attempt == 1 ? .status(503) : .ok("\($0.body.count)") }
    defer { server.stop() }
    let time = PausedTime()
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    let upload = NetworkUploadProcedure().resilient(resilience)
    let handle = time.queue.add(upload, input: HTTPPayloadRequest(body(isFile), to: server.url("/")))
    _ = try await time.endPause()
    #expect(try await handle.value.text == "1000000")
    #expect(server.requests.map(\.body.count) == [1_000_000, 1_000_000])
  }

  @Test(
    "A response before the body, a reset, and a closed connection end the transfer",
    arguments: ["/413", "/reset", "/close"])
  func early(_ path: String) async throws {
    let early: @Sendable (ServerRequest) -> ServerResponse? = { request in
      switch request.path {
      case "/413": .status(413)
      case "/reset": .resets
      default: .closes
      }
    }
    let server = try LoopbackServer(beforeBody: early) { _ in .ok("") }
    defer { server.stop() }
    let request = HTTPPayloadRequest(.data(Data(count: 20_000_000)), to: server.url(path))
    do {
      let response = try await NetworkUploadProcedure()(request)
      #expect(path == "/413" && response.status == 413)
    } catch let error as NetworkError {
      // A connection that is closed while the body is being sent may lose the response.
      #expect(error.kind == .transferFailed)
    }
    try await server.waitUntilUnconnected()
  }

  @Test("A missing file, a folder, a GET with a body, and two bodies are errors, and nothing is sent")
  func refused() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let upload = NetworkUploadProcedure()
    for url in [folder.file("missing"), folder.url] {
      let error = await networkError { try await upload(HTTPPayloadRequest(.file(url), to: server.url("/"))) }
      #expect(error?.kind == .fileFailed)
      #expect(error?.description.contains(url.lastPathComponent) == true)
    }
    for request in [URLRequest(server.url("/")), URLRequest(server.url("/"), "POST", body: "meow")] {
      let error = await networkError { try await upload(HTTPPayloadRequest(.data(Data("a".utf8)), request)) }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(server.requests.isEmpty)
  }

  @Test("A pipe and a device are immediate errors with every transport, because reading them may never end")
  func irregular() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    try #require(mkfifo(folder.file("pipe").path, 0o600) == 0)
    let transports = [CurlTransport.shared as (any HTTPTransport)?, URLSessionTransport.shared].compactMap(\.self)
    for url in [folder.file("pipe"), URL(filePath: "/dev/zero")] {
      let error = await networkError {
        try await NetworkUploadProcedure()(HTTPPayloadRequest(.file(url), to: server.url("/")))
      }
      #expect(error?.kind == .fileFailed)
      #expect(error?.description.contains("stream") == true)
      for transport in transports {
        // The transport is used directly, because a procedure would check the file itself.
        let exchange = HTTPExchange(
          URLRequest(server.url("/"), "PUT"), body: .file(url), onResponse: { _ in }, onData: { _ in })
        let error = await networkError { try await transport.perform(exchange) }
        #expect(error?.kind == .fileFailed)
      }
    }
    try await server.waitUntilUnconnected()
    #expect(server.requests.isEmpty)
  }

  @Test("A cancellation during the body closes the connection")
  func cancel() async throws {
    let silent: @Sendable (ServerRequest) -> ServerResponse? = { _ in .neverAnswers }
    let server = try LoopbackServer(beforeBody: silent) { _ in .ok("") }
    defer { server.stop() }
    let handle = ProcedureQueue.shared.add(
      NetworkUploadProcedure(), input: HTTPPayloadRequest(.data(Data(count: 50_000_000)), to: server.url("/")))
    try await server.waitForRequests(1)
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    try await server.waitUntilUnconnected()
  }

  @Test(
    "A file whose path contains a NUL character is an error of an upload and of a download, before a connection is made"
  )
  func nul() async throws {
    let server = try LoopbackServer { _ in .ok("") }
    defer { server.stop() }
    let urls = [URL(fileURLWithPath: "/tmp/a\0b"), try #require(URL(string: "file:///tmp/a%00b"))]
    for url in urls {
      let up = await #expect(throws: NetworkError.self) {
        try await NetworkUploadProcedure()(HTTPPayloadRequest(.file(url), to: server.url("/")))
      }
      #expect(up?.kind == .fileFailed)
      let down = await #expect(throws: NetworkError.self) {
        try await NetworkDownloadProcedure(to: url)(URLRequest(url: server.url("/")))
      }
      #expect(down?.kind == .fileFailed)
    }
    #expect(server.requests.isEmpty)
  }
}
