import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Synchronization
import Testing
import TestingProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct ResumeTests {
  private static let bytes = Data((0..<100_000).map { UInt8($0 % 251) })
  private static let otherBytes = Data((0..<90_000).map { UInt8($0 % 241) })
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  private func run(
    _ server: LoopbackServer, attempts: Int = 3, onProgress: (@Sendable (NetworkProgress) -> Void)? = nil
  ) async throws -> Data {
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    resilience.backoff = .immediate
    resilience.maxAttempts = attempts
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.onProgress = onProgress
    let response = try await download.resilient(resilience)(URLRequest(server.url("/kitten")))
    return try Data(contentsOf: response.payload)
  }

  /// The `Range` header of each request.
  private func ranges(_ server: LoopbackServer) -> [String?] { server.requests.map { $0.headers["Range"] } }

  @Test("A part that has come is not asked for again, if the server identifies the version")
  func resumes() async throws {
    let server = try LoopbackServer { request in
      let file = ServerResponse.file(Self.bytes, tag: "\"1\"")
      return switch request.attempt {
      case 1: file.truncated(after: 30_000)
      case 2: file.truncated(after: 20_000)
      default: file
      }
    }
    defer { server.stop() }
    let seen = Mutex<[NetworkProgress]>([])
    let data = try await run(server) { progress in seen.withLock { $0.append(progress) } }
    #expect(data == Self.bytes)
    #expect(ranges(server) == [nil, "bytes=30000-", "bytes=50000-"])
    #expect(server.requests.map { $0.headers["If-Range"] } == [nil, "\"1\"", "\"1\""])
    #expect(seen.withLock { $0.last } == NetworkProgress(bytesReceived: 100_000, bytesToReceive: 100_000))
    #expect(seen.withLock { $0.contains { $0.bytesReceived == 50_000 && $0.bytesToReceive == 100_000 } })
    #expect(folder.names == ["kitten"])
  }

  @Test("A file that has changed meanwhile comes from its beginning")
  func changed() async throws {
    let server = try LoopbackServer { request in
      request.attempt == 1
        ? .file(Self.bytes, tag: "\"1\"").truncated(after: 30_000) : .file(Self.otherBytes, tag: "\"2\"")
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.otherBytes)
    #expect(ranges(server) == [nil, "bytes=30000-"])
  }

  @Test(
    "The rest of another version, from a server that overlooks If-Range, is not joined to the part",
    arguments: [true, false])
  func overlooked(_ hasTag: Bool) async throws {
    let server = try LoopbackServer { request in
      switch request.attempt {
      case 1: return .file(Self.bytes, tag: "\"1\"").truncated(after: 30_000)
      case 2:
        var rest = ServerResponse.status(206, body: Self.otherBytes.dropFirst(30_000))
        rest.headers["Content-Range"] = "bytes 30000-89999/\(hasTag ? "*" : "90000")"
        if hasTag { rest.headers["ETag"] = "\"2\"" }
        return rest
      default: return .file(Self.otherBytes, tag: "\"2\"")
      }
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.otherBytes)
    #expect(ranges(server) == [nil, "bytes=30000-", nil])
  }

  @Test(
    "Without a strong validator, and for a server without parts, the whole is asked for again",
    arguments: [
      [:], ["ETag": "W/\"1\""], ["ETag": "\"1\"", "Accept-Ranges": "none"],
      ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"],
      ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
    ])
  func unidentified(_ headers: [String: String]) async throws {
    let server = try LoopbackServer { request in
      var response = ServerResponse.ok(Self.bytes)
      for (name, value) in headers { response.headers[name] = value }
      return request.attempt == 1 ? response.reset(after: 30_000) : response
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.bytes)
    #expect(ranges(server) == [nil, nil])
  }

  /// Sends a part of a compressed body, and the whole the next time.
  private final class Compressed: HTTPTransport {
    let ranges = Mutex<[String?]>([])

    func perform(_ exchange: HTTPExchange) async throws {
      let attempt = ranges.withLock { ranges in
        ranges.append(exchange.request.value(forHTTPHeaderField: "Range"))
        return ranges.count
      }
      let url = try #require(exchange.request.url)
      let headers = ["ETag": "\"1\"", "Content-Encoding": "gzip", "Content-Length": "99"]
      let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: headers)
      try exchange.didReceive(try #require(response))
      try exchange.didReceive(Data("a kit".utf8))
      if attempt == 1 { throw URLError(.networkConnectionLost) }
      try exchange.didReceive(Data("ten".utf8))
    }
  }

  @Test("A compressed body is not gone on with, since its bytes have other places")
  func compressed() async throws {
    let transport = Compressed()
    var resilience = NetworkResilience()
    resilience.backoff = .immediate
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.transport = transport
    let request = URLRequest(URL(string: "https://kitten.example/")!)
    let response = try await download.resilient(resilience)(request)
    #expect(try String(contentsOf: response.payload, encoding: .utf8) == "a kitten")
    #expect(transport.ranges.withLock { $0 } == [nil, nil])
  }

  /// Sends the rest with the largest number as its length, where `URLSession` on Linux ends the process.
  private struct Absurd: HTTPTransport {
    @concurrent func perform(_ exchange: HTTPExchange) async throws {
      let url = try #require(exchange.request.url)
      let isRest = exchange.request.value(forHTTPHeaderField: "Range") != nil
      let headers = ["ETag": "\"1\"", "Content-Range": "bytes 5-7/8", "Content-Length": isRest ? "\(Int64.max)" : "8"]
      let response = HTTPURLResponse(
        url: url, statusCode: isRest ? 206 : 200, httpVersion: nil, headerFields: headers)
      try exchange.didReceive(try #require(response))
      try exchange.didReceive(Data((isRest ? "ten" : "a kit").utf8))
      if !isRest { throw URLError(.networkConnectionLost) }
    }
  }

  @Test("A length that no body has counts as none")
  func absurdLength() async throws {
    var resilience = NetworkResilience()
    resilience.backoff = .immediate
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.transport = Absurd()
    let response = try await download.resilient(resilience)(URLRequest(URL(string: "https://kitten.example/")!))
    #expect(try String(contentsOf: response.payload, encoding: .utf8) == "a kitten")
  }

  @Test("An old date of change identifies the version, too")
  func date() async throws {
    let (changed, present) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")
    let server = try LoopbackServer { request in
      let response = ServerResponse.ok(Self.bytes, headers: ["Last-Modified": changed, "Date": present])
      guard request.headers["If-Range"] == changed else { return response.truncated(after: 40_000) }
      return .status(
        206, headers: ["Content-Range": "bytes 40000-99999/100000"], body: Self.bytes.dropFirst(40_000))
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.bytes)
    #expect(ranges(server) == [nil, "bytes=40000-"])
  }

  @Test("A server that sends another part, and one whose file is shorter now, are asked for the whole")
  func mistakes() async throws {
    for status in [206, 416] {
      let server = try LoopbackServer { request in
        if request.attempt == 1 { return .file(Self.bytes, tag: "\"1\"").truncated(after: 30_000) }
        guard request.headers["Range"] != nil else { return .file(Self.otherBytes, tag: "\"2\"") }
        return .status(status, headers: ["Content-Range": "bytes 5-9/10"], body: Data("abcde".utf8))
      }
      defer { server.stop() }
      #expect(try await run(server) == Self.otherBytes)
      #expect(ranges(server) == [nil, "bytes=30000-", nil])
    }
  }

  @Test("A part that is shorter than asked for is gone on from")
  func shortPart() async throws {
    let server = try LoopbackServer { request in
      guard let range = request.headers["Range"] else {
        return .file(Self.bytes, tag: "\"1\"").truncated(after: 30_000)
      }
      let first = Int(range.dropFirst(6).dropLast()) ?? 0
      let last = min(first + 40_000, 100_000) - 1
      return .status(
        206, headers: ["Content-Range": "bytes \(first)-\(last)/100000"], body: Self.bytes[first...last])
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.bytes)
    #expect(ranges(server) == [nil, "bytes=30000-", "bytes=70000-"])
  }

  @Test("Nothing is left when all attempts have failed, nor when a pause is cancelled")
  func exhausted() async throws {
    let server = try LoopbackServer { _ in .file(Self.bytes, tag: "\"1\"").truncated(after: 1_000) }
    defer { server.stop() }
    let error = await networkError { try await run(server) }
    #expect(error?.kind == .incomplete)
    #expect(ranges(server).last == "bytes=2000-")
    #expect(folder.names == [])

    let time = PausedTime()
    let download = NetworkDownloadProcedure(to: folder.file("kitten")).resilient()
    let handle = time.queue.add(download, input: URLRequest(server.url("/kitten")))
    var events = handle.events.makeAsyncIterator()
    while let event = await events.next(), event.kind != .retrying {}
    #expect(folder.names.count == 1)
    handle.cancel()
    #expect(await handle.outcome.isCancelled)
    #expect(folder.names == [])
  }

  @Test("A range of the caller's own is the whole of the download")
  func ownRange() async throws {
    let server = try LoopbackServer { _ in .file(Self.bytes, tag: "\"1\"") }
    defer { server.stop() }
    let download = NetworkDownloadProcedure(to: folder.file("kitten")).resilient()
    let response = try await download(URLRequest(server.url("/"), headers: ["Range": "bytes=10-19"]))
    #expect(response.status == 206)
    #expect(try Data(contentsOf: response.payload) == Self.bytes[10...19])
  }
}
