import Foundation
import LoopbackServer
import ProcedureKit
import ProcedureKitNetwork
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests that the transferred bytes are the progress of the procedure. A gate stops the server until the progress has been observed.
@Suite(.timeLimit(.minutes(10))) struct TransferProgressTests {
  private static let bytes = Data((0..<100_000).map { UInt8($0 % 251) })
  private let queue = ProcedureQueue("network")
  private let gate = ServerGate()

  /// Opens the gate when the given number of units is done, and returns the last progress.
  private func watch<Output>(
    _ handle: ProcedureHandle<Output>, until count: Int
  ) async throws -> ProcedureProgress {
    var last = ProcedureProgress?.none
    for await progress in handle.progress {
      #expect(progress.fraction >= last?.fraction ?? 0)
      if progress.completedUnits == count { gate.open() }
      last = progress
    }
    _ = try await handle.value
    return try #require(last)
  }

  @Test(
    "The progress of loading is that of the body, and a token request in the meantime does not count",
    arguments: [false, true])
  func loading(_ isAuthorized: Bool) async throws {
    let server = try LoopbackServer { [gate] request in
      request.path == "/token"
        ? .ok(#"{"access_token": "secret", "token_type": "Bearer"}"#) : .ok(Self.bytes).gated(gate, after: 25_000)
    }
    defer { server.stop() }
    var load = NetworkDataProcedure("load").procedureTask
    if isAuthorized {
      load = load.authorized(
        by: WebServiceCapability(
          "kittens", OAuthConfiguration(tokenURL: server.url("/token"), clientID: "me", clientSecret: "s")))
    }
    // The reader has been added before the token is requested.
    queue.suspend()
    let handle = queue.add(load, input: URLRequest(server.url("/")))
    async let last = watch(handle, until: 25_000)
    queue.resume()
    #expect(try await last.description == "100000 of 100000 (100%)")
  }

  @Test(
    "The progress of an upload is that of the sent body, however long the response takes", arguments: [true, false])
  func uploading(_ isFile: Bool) async throws {
    let folder = try TemporaryFolder()
    try Self.bytes.write(to: folder.file("kitten"))
    let server = try LoopbackServer { [gate] _ in .ok(Data(count: 500)).gated(gate, after: 0) }
    defer { server.stop() }
    let body = isFile ? HTTPBody.file(folder.file("kitten")) : .data(Self.bytes)
    let handle = queue.add(NetworkUploadProcedure(), input: HTTPPayloadRequest(body, to: server.url("/")))
    #expect(try await watch(handle, until: 100_000).description == "100000 of 100000 (100%)")
  }

  @Test("A download that continues counts the existing part")
  func resuming() async throws {
    let folder = try TemporaryFolder()
    let server = try LoopbackServer { [gate] request in
      let file = ServerResponse.file(Self.bytes, tag: "\"1\"")
      return request.attempt == 1 ? file.truncated(after: 30_000) : file.gated(gate, after: 20_000)
    }
    defer { server.stop() }
    var resilience = NetworkResilience()
    resilience.attemptTimeout = .zero
    resilience.backoff = .immediate
    let download = NetworkDownloadProcedure(to: folder.file("kitten")).resilient(resilience)
    let handle = queue.add(download, input: URLRequest(server.url("/")))
    #expect(try await watch(handle, until: 50_000).description == "100000 of 100000 (100%)")
    #expect(server.requests.count == 2)
  }

  @Test(
    "An unknown length, and the length of a response that is not accepted, are not reported",
    arguments: ["/chunks", "/404"])
  func unknown(_ path: String) async throws {
    let server = try LoopbackServer { request in
      request.path == "/404" ? .status(404, body: Self.bytes) : .ok(Self.bytes).chunked(by: 7_000)
    }
    defer { server.stop() }
    var load = NetworkDataProcedure()
    load.settings.acceptsStatus = \.isSuccess
    let handle = queue.add(load, input: URLRequest(server.url(path)))
    let last = await handle.progress.reduce(nil) { $1 } as ProcedureProgress?
    #expect(last?.completedUnits == nil)
    #expect(last?.fraction == (path == "/404" ? 0 : 1))
    _ = await handle.outcome
  }

  @Test("A body with several transfers reports its own progress")
  func body() async throws {
    let server = try LoopbackServer { _ in .ok(Self.bytes) }
    defer { server.stop() }
    var load = NetworkDataProcedure()
    load.settings.reportsProgress = false
    let seen = try await queue.run(
      ProcedureTask("all") { [load] in
        let progress = try #require(ProcedureContext.current?.progress)
        var seen: [ProcedureProgress?] = []
        for count in 0..<3 {
          progress.report(count, of: 3)
          _ = try await load(URLRequest(server.url("/\(count)")))
          seen.append(await progress.values.first { _ in true })
        }
        return seen
      })
    #expect(seen.map { $0?.description } == ["0 of 3 (0%)", "1 of 3 (33%)", "2 of 3 (66%)"])
  }
}
