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

@Suite(.timeLimit(.minutes(10))) struct NetworkDownloadTests {
  private let folder: TemporaryFolder
  private let download: NetworkDownloadProcedure

  init() throws {
    folder = try TemporaryFolder()
    download = NetworkDownloadProcedure(to: folder.file("kitten"))
  }

  @Test(
    "The body becomes the file, and replaces an existing one, regardless of the body's framing",
    arguments: ["/", "/chunks", "/close"])
  func whole(_ path: String) async throws {
    let bytes = Data((0..<300_000).map { UInt8($0 % 251) })
    let server = try LoopbackServer { request in
      switch request.path {
      case "/chunks": .ok(bytes).chunked(by: 7_000)
      case "/close": .ok(bytes).withoutLength()
      default: .ok(bytes)
      }
    }
    defer { server.stop() }
    try Data("an older kitten, which is replaced".utf8).write(to: folder.file("kitten"))
    let response = try await download(URLRequest(server.url(path)))
    #expect(response.payload == folder.file("kitten"))
    #expect(response.status == 200)
    #expect(try Data(contentsOf: response.payload) == bytes)
    #expect(folder.names == ["kitten"])
  }

  @Test("An empty body becomes an empty file, and each request can have its own file")
  func files() async throws {
    let server = try LoopbackServer { request in .ok(request.path == "/empty" ? "" : request.path) }
    defer { server.stop() }
    let folder = folder
    let download = NetworkDownloadProcedure { folder.file($0.url?.lastPathComponent ?? "") }
    for path in ["/empty", "/one", "/two"] { _ = try await download(URLRequest(server.url(path))) }
    #expect(folder.names == ["empty", "one", "two"])
    #expect(try Data(contentsOf: folder.file("empty")).isEmpty)
    #expect(try String(contentsOf: folder.file("two"), encoding: .utf8) == "/two")
  }

  @Test(
    "A fault does not change the destination, and leaves no file beside it",
    arguments: ["/closes", "/middle", "/truncated", "/chunks", "/garbage", "/missing", "/long", "/loop", "/part"])
  func faults(_ path: String) async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/closes": .closes
      case "/middle": .ok(Data(count: 9_000)).reset(after: 5_000)
      case "/truncated": .ok(Data(count: 9_000)).truncated(after: 5_000)
      case "/chunks": .ok(Data(count: 9_000)).chunked(by: 1_000).truncated(after: 5_000)
      case "/garbage": .garbage()
      case "/missing": .status(404, body: Data("no kitten".utf8))
      case "/long": .endless()
      case "/loop": .redirect(to: "/loop")
      default: .status(500, headers: ["Content-Length": "70000"]).stalled(after: 0)
      }
    }
    defer { server.stop() }
    try Data("an older kitten".utf8).write(to: folder.file("kitten"))
    var download = download
    download.settings.sizeLimit = 100_000
    let request = URLRequest(server.url(path))
    if path == "/part" {
      let handle = ProcedureQueue.shared.add(download, input: request)
      try await server.waitForRequests(1)
      handle.cancel()
      #expect(await handle.outcome.isCancelled)
    } else {
      let error = await networkError { [download] in try await download(request) }
      #expect(error?.description.contains(path) == true)
      if path == "/missing" { #expect(error?.body == Data("no kitten".utf8)) }
      if path == "/long" { #expect(error?.kind == .tooLarge) }
    }
    #expect(folder.names == ["kitten"])
    #expect(try String(contentsOf: folder.file("kitten"), encoding: .utf8) == "an older kitten")
    try await server.waitUntilUnconnected()
  }

  @Test("A missing folder is an error before anything is sent, and a folder as the destination is an error")
  func unwritable() async throws {
    let server = try LoopbackServer { _ in .ok("a kitten") }
    defer { server.stop() }
    let missing = NetworkDownloadProcedure(to: folder.file("missing/kitten"))
    let error = await networkError { try await missing(URLRequest(server.url("/"))) }
    #expect(error?.kind == .fileFailed)
    #expect(error?.description.hasSuffix("missing/kitten could not be written: No such file or directory.") == true)
    #expect(server.requests.isEmpty)

    try FileManager.default.createDirectory(at: folder.file("kitten"), withIntermediateDirectories: true)
    #expect(await networkError { try await download(URLRequest(server.url("/"))) }?.kind == .fileFailed)
    #expect(folder.names == ["kitten"])
  }

  @Test(
    "A cancellation during the transfer and a timeout close the connection, and leave no file behind",
    arguments: [true, false])
  func cancels(_ isTimeout: Bool) async throws {
    let server = try LoopbackServer { _ in .ok("0123456789").stalled(after: 4) }
    defer { server.stop() }
    let clock = VirtualClock()
    let queue = ProcedureQueue("network", clock: clock)
    let (pieces, piece) = AsyncStream.makeStream(of: Void.self)
    var download = download
    download.settings.onProgress = { if $0.bytesReceived == 4 { piece.yield() } }
    let handle = queue.add(download.timeout(.seconds(8)), input: URLRequest(server.url("/")))
    for await _ in pieces { break }
    #expect(folder.names.count == 1)
    if isTimeout { clock.advance(by: .seconds(8)) } else { handle.cancel() }
    let outcome = await handle.outcome
    #expect(outcome.isCancelled == !isTimeout)
    #expect(folder.names == [])
    try await server.waitUntilUnconnected()
  }

  @Test("Forty concurrent downloads that are cancelled at arbitrary times leave only complete files")
  func storm() async throws {
    let bytes = Data(count: 50_000)
    let server = try LoopbackServer { _ in .ok(bytes).chunked(by: 1_000) }
    defer { server.stop() }
    let folder = folder
    let download = NetworkDownloadProcedure { folder.file($0.url?.lastPathComponent ?? "") }
    let queue = ProcedureQueue("network", maxConcurrentProcedures: 8)
    let handles = (0..<40).map { queue.add(download.resilient(), input: URLRequest(server.url("/\($0)"))) }
    for (index, handle) in handles.enumerated() {
      if index % 3 == 0 { _ = await handle.outcome } else { await Task.yield() }
      handle.cancel()
    }
    for handle in handles { _ = await handle.outcome }
    #expect(folder.names.count >= 14)
    for name in folder.names { #expect(try Data(contentsOf: folder.file(name)) == bytes, "\(name)") }
    try await server.waitUntilUnconnected()
  }
}
