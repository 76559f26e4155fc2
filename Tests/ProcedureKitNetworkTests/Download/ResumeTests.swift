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

  /// Returns the `Range` header of each request.
  private func ranges(_ server: LoopbackServer) -> [String?] { server.requests.map { $0.headers["Range"] } }

  @Test("A part that has arrived is not requested again if the server identifies the version")
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

  @Test("A file that has changed in the meantime is downloaded from the beginning")
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
    "The rest of another version, from a server that ignores If-Range, is not joined to the part",
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
    "Without a strong validator, or if the server does not support ranges, the whole file is requested again",
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

  /// Sends a part of a compressed body, and the whole body the next time.
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

  @Test("The download of a compressed body is not continued, because its bytes have other positions")
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

  @Test("An impossible length is treated as missing")
  func absurdLength() async throws {
    var resilience = NetworkResilience()
    resilience.backoff = .immediate
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.transport = Absurd()
    let response = try await download.resilient(resilience)(URLRequest(URL(string: "https://kitten.example/")!))
    #expect(try String(contentsOf: response.payload, encoding: .utf8) == "a kitten")
  }

  @Test("An old modification date also identifies the version")
  func date() async throws {
    let (changed, present) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")
    let server = try LoopbackServer { request in
      let response = ServerResponse.ok(Self.bytes, headers: ["Last-Modified": changed, "Date": present])
      guard request.headers["If-Range"] == changed else { return response.truncated(after: 40_000) }
      return .status(
        206, headers: ["Content-Range": "bytes 40000-99999/100000", "Last-Modified": changed],
        body: Self.bytes.dropFirst(40_000))
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.bytes)
    #expect(ranges(server) == [nil, "bytes=40000-"])
  }

  @Test("If a server sends another part, or its file has become shorter, the whole file is requested")
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

  @Test("A download continues after a part that is shorter than requested")
  func shortPart() async throws {
    let server = try LoopbackServer { request in
      guard let range = request.headers["Range"] else {
        return .file(Self.bytes, tag: "\"1\"").truncated(after: 30_000)
      }
      let first = Int(range.dropFirst(6).dropLast()) ?? 0
      let last = min(first + 40_000, 100_000) - 1
      return .status(
        206, headers: ["Content-Range": "bytes \(first)-\(last)/100000", "ETag": "\"1\""],
        body: Self.bytes[first...last])
    }
    defer { server.stop() }
    #expect(try await run(server) == Self.bytes)
    #expect(ranges(server) == [nil, "bytes=30000-", "bytes=70000-"])
  }

  @Test("No file is left behind when all attempts fail, or when a pause is cancelled")
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

  @Test("A range that the caller sets is the whole download")
  func ownRange() async throws {
    let server = try LoopbackServer { _ in .file(Self.bytes, tag: "\"1\"") }
    defer { server.stop() }
    let download = NetworkDownloadProcedure(to: folder.file("kitten")).resilient()
    let response = try await download(URLRequest(server.url("/"), headers: ["Range": "bytes=10-19"]))
    #expect(response.status == 206)
    #expect(try Data(contentsOf: response.payload) == Self.bytes[10...19])
  }
}

/// Tests downloads in parts through a transport without a network, with different descriptions of the parts.
@Suite(.timeLimit(.minutes(10))) struct PartTests {
  private static let bytes = Data((0..<1_000).map { UInt8($0 % 251) })
  private static let url = URL(string: "https://kitten.example/")!
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// Sends the first 500 bytes, breaks off, and then sends the responses of the script.
  private func download(
    attempts: Int = 3, _ first: [String: String] = ["ETag": "\"1\"", "Content-Length": "1000"],
    change: (inout TransferSettings) -> Void = { _ in },
    rest: @escaping @Sendable (HTTPExchange, Int) throws -> Void
  ) async throws -> (result: Result<Data, any Error>, ranges: [String?]) {
    let transport = ScriptedTransport { exchange, number in
      guard number == 1 else { return try rest(exchange, number) }
      try exchange.answer(200, first, Self.bytes.prefix(500))
      throw URLError(.networkConnectionLost)
    }
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    resilience.backoff = .immediate
    resilience.maxAttempts = attempts
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    change(&download.settings)
    download.settings.transport = transport
    let handle = ProcedureQueue("network").add(download.resilient(resilience), input: URLRequest(url: Self.url))
    let result = await handle.result.map { try? Data(contentsOf: $0.payload) }
    return (result.map { $0 ?? Data() }, transport.values(of: "Range"))
  }

  private static func part(_ range: ClosedRange<Int>, _ total: String, _ more: [String: String] = ["ETag": "\"1\""])
    -> [String: String]
  {
    more.merging(["Content-Range": "bytes \(range.lowerBound)-\(range.upperBound)/\(total)"]) { $1 }
  }

  @Test("A program that sends a redirect's request itself downloads the whole file, regardless of what has arrived")
  func redirectedPart() async throws {
    struct Redirected: Error {}
    let next = Mutex<URLRequest?>(nil)
    let (result, ranges) = try await download { settings in
      settings.onRedirect = { request in
        next.withLock { $0 = request }
        throw Redirected()
      }
    } rest: { exchange, _ in
      try exchange.answer(302, ["Location": "/elsewhere"])
    }
    #expect(throws: Redirected.self) { try result.get() }
    #expect(ranges == [nil, "bytes=500-"])
    let request = try #require(next.withLock { $0 })
    #expect(request.url?.path == "/elsewhere")
    #expect((request.allHTTPHeaderFields ?? [:]).isEmpty)
  }

  @Test("The total of the first response is kept when a part does not contain the total")
  func total() async throws {
    let (result, ranges) = try await download(attempts: 2) { exchange, number in
      if number == 2 { return try exchange.answer(206, Self.part(500...599, "*"), Self.bytes[500...599]) }
      try exchange.answer(206, Self.part(600...999, "*"), Self.bytes[600...999])
    }
    #expect(try result.get() == Self.bytes)
    #expect(ranges == [nil, "bytes=500-", "bytes=600-"])
    let cut = try await download(attempts: 2) { exchange, number in
      if number == 2 { return try exchange.answer(206, Self.part(500...599, "*"), Self.bytes[500...599]) }
      throw URLError(.networkConnectionLost)
    }
    #expect(throws: NetworkError.self) { try cut.result.get() }
    #expect(folder.names == ["kitten"])
  }

  @Test("A server that sends a little at a time uses up no attempt as long as it sends something")
  func capped() async throws {
    for total in ["1000", "*"] {
      let progress = Mutex<[NetworkProgress]>([])
      let (result, ranges) = try await download(attempts: 2) { settings in
        settings.onProgress = { value in progress.withLock { $0.append(value) } }
      } rest: { exchange, number in
        let first = 500 + (number - 2) * 50
        try exchange.answer(206, Self.part(first...first + 49, total), Self.bytes[first...first + 49])
      }
      #expect(try result.get() == Self.bytes)
      #expect(ranges.count == 11)
      #expect(progress.withLock { $0.allSatisfy { $0.bytesToReceive == 1_000 } })
    }
  }

  @Test("Without any total, the file ends where the server has no more bytes", arguments: [true, false])
  func unknownTotal(_ saysVersion: Bool) async throws {
    let (result, ranges) = try await download(attempts: 2, ["ETag": "\"1\""]) { exchange, number in
      switch number {
      case 2: try exchange.answer(206, Self.part(500...799, "*"), Self.bytes[500...799])
      case 3: try exchange.answer(206, Self.part(800...999, "*"), Self.bytes[800...999])
      case 4:
        try exchange.answer(
          416, ["Content-Range": "bytes */1000"].merging(saysVersion ? ["ETag": "\"1\""] : [:]) { $1 })
      default: try exchange.answer(200, [:], Self.bytes)
      }
    }
    #expect(try result.get() == Self.bytes)
    #expect(ranges == [nil, "bytes=500-", "bytes=800-", "bytes=1000-"] + (saysVersion ? [] : [nil]))
  }

  private static let old = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 09:49:37 GMT"]

  @Test(
    "A part is used only if its ETag or Last-Modified identifies the same version, and if it is not encoded",
    arguments: [
      (["ETag": "\"1\""], true), ([:], false), (["ETag": "\"2\""], false), (["ETag": "W/\"1\""], false),
      (["ETag": "\"1\"", "Content-Encoding": "gzip"], false),
      (["ETag": "\"1\"", "Content-Encoding": "identity"], true),
      (old, true), (["Last-Modified": "Sun, 06 Nov 1994 08:49:38 GMT"], false),
      (["ETag": "\"2\""].merging(old) { $1 }, false),
      (["ETag": "\"1\"", "Last-Modified": "Mon, 07 Nov 1994 08:49:37 GMT"], true),
    ])
  func versions(_ headers: [String: String], _ isSame: Bool) async throws {
    let first = ["ETag": "\"1\"", "Content-Length": "1000"].merging(Self.old) { $1 }
    let (result, ranges) = try await download(first) { exchange, number in
      guard number == 2 else { return try exchange.answer(200, [:], Self.bytes) }
      let bytes = isSame ? Self.bytes.dropFirst(500) : Data(count: 500)
      try exchange.answer(206, Self.part(500...999, "1000", headers), Data(bytes))
    }
    #expect(try result.get() == Self.bytes)
    #expect(ranges == (isSame ? [nil, "bytes=500-"] : [nil, "bytes=500-", nil]))
  }

  @Test(
    "A part that was not requested is incomplete, regardless of its header",
    arguments: [
      ["Content-Range": "bytes 0-9/1000"], ["Content-Range": "bytes 0-999/1000", "ETag": "\"1\""], [:],
      ["Content-Type": "multipart/byteranges; boundary=x"], ["Content-Range": "nonsense"],
    ])
  func unrequested(_ headers: [String: String]) async throws {
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.transport = ScriptedTransport { exchange, _ in try exchange.answer(206, headers, Self.bytes) }
    let error = await networkError { [download] in try await download(URLRequest(url: Self.url)) }
    #expect(error?.kind == .incomplete)
    #expect(folder.names == [])
  }

  @Test(
    "A part without a range, a multipart response, and a part that is longer than announced are not joined to the file",
    arguments: [
      ["ETag": "\"1\""], ["ETag": "\"1\"", "Content-Type": "multipart/byteranges; boundary=x"],
      part(500...599, "1000"), part(500...1_499, "1000"), part(499...999, "1000"),
    ])
  func wrongParts(_ headers: [String: String]) async throws {
    let (result, ranges) = try await download { exchange, number in
      try exchange.answer(
        number == 2 ? 206 : 200, number == 2 ? headers : [:], number == 2 ? Data(count: 500) : Self.bytes)
    }
    #expect(try result.get() == Self.bytes)
    #expect(ranges == [nil, "bytes=500-", nil])
  }

  @Test(
    "A length is ignored if the body is chunked, and a length consists of digits only",
    arguments: ["9", "99999", "+8", "-8", "8, 8"])
  func lengths(_ length: String) async throws {
    var headers = ["Content-Length": length]
    if Int(length) ?? 0 > 8 { headers["Transfer-Encoding"] = "chunked" }
    let transport = ScriptedTransport { [headers] exchange, _ in try exchange.answer(200, headers, "a kitten") }
    var load = NetworkDataProcedure()
    load.settings.transport = transport
    load.settings.sizeLimit = 8
    #expect(try await load(URLRequest(url: Self.url)).text == "a kitten")
    var download = NetworkDownloadProcedure(to: folder.file("kitten"))
    download.settings.transport = transport
    #expect(try await String(contentsOf: download(URLRequest(url: Self.url)).payload, encoding: .utf8) == "a kitten")
  }

  @Test("A file that is longer than the limit is refused as soon as the total is known")
  func limit() async throws {
    let (result, ranges) = try await download(["ETag": "\"1\""]) {
      $0.sizeLimit = 900
    } rest: { exchange, _ in
      try exchange.answer(206, Self.part(500...599, "1000"), Self.bytes[500...599])
    }
    #expect { try result.get() } throws: { ($0 as? NetworkError)?.kind == .tooLarge }
    #expect(ranges.count == 2)
  }
}
