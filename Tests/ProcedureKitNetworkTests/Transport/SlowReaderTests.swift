#if os(Linux)
  import Dispatch
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import ProcedureKit
  import ProcedureKitNetwork
  import Synchronization
  import TestSupport
  import Testing

  /// Tests the costs of readers that do not read, and of bodies in tiny pieces. Each test has its own process, whose memory nothing else
  /// uses.
  @Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct SlowReaderTests {
    private static let count = TestDepth.current == .deep ? 1_000 : 100
    private static let size = 2 << 20

    @Test(
      "A reader that does not read pauses its transfer, with bounded memory; cancelling it closes the connection"
    )
    func pauses() async {
      await #expect(processExitsWith: .success) { try await SlowReaderTests.holdReaders() }
    }

    private static func holdReaders() async throws {
      let (gate, body) = (ServerGate(), Data(repeating: 0x2e, count: size))
      let server = try LoopbackServer { request in
        request.path == "/innocent" ? .ok("a kitten") : .ok(body).gated(gate, after: 0)
      }
      defer { server.stop() }
      var configuration = CurlTransport.Configuration()
      configuration.maxConnectionsPerHost = 2 * count
      let transport = try #require(CurlTransport(configuration))
      let executor = HeldExecutor()
      let readers = (0..<count).map { index in
        Task(executorPreference: executor) {
          let received = Mutex(0)
          let exchange = HTTPExchange(
            URLRequest(server.url("/\(index)")), onResponse: { _ in },
            onData: { data in received.withLock { $0 += data.count } })
          try await transport.perform(exchange)
          return received.withLock { $0 }
        }
      }
      try await gate.waitForArrivals(count)
      executor.hold()
      let before = try memory("VmRSS")
      gate.open()
      // All buffers fill. They hold about 128 KB each, and the system's sockets the rest.
      try await eventually { try memory("VmRSS") - before > (count * 100) << 10 }
      var load = NetworkDataProcedure()
      load.settings.transport = transport
      for _ in 1...50 { #expect(try await load(URLRequest(server.url("/innocent"))).text == "a kitten") }
      let used = try memory("VmRSS") - before
      #expect(used < (count * 512) << 10, "\(used >> 10) KB for \(count) transfers")

      // Cancelling closes the connection, although the reader does not run.
      for reader in readers.prefix(count / 2) { reader.cancel() }
      try await eventually { server.openConnections <= count - count / 2 }
      executor.letGo()
      for (index, reader) in readers.enumerated() {
        if index < count / 2 {
          await #expect(throws: CancellationError.self) { try await reader.value }
        } else {
          #expect(try await reader.value == size)
        }
      }
      try await server.waitUntilUnconnected()
    }

    @Test("A body of many megabytes in chunks of one byte takes at most 64 MB")
    func chunks() async {
      await #expect(processExitsWith: .success) {
        let piece = Data(String(repeating: "1\r\nx\r\n", count: 20_000).utf8)
        let server = try LoopbackServer { request in
          if request.path == "/first" { return .ok("a kitten") }
          var response = ServerResponse.endless(piece)
          response.headers["Transfer-Encoding"] = "chunked"
          return response
        }
        defer { server.stop() }
        var load = NetworkDataProcedure()
        if !TestDepth.isAtLeastGate { load.settings.sizeLimit = 4 << 20 }
        // After this, the process has allocated the memory that it needs in any case.
        _ = try await load(URLRequest(server.url("/first")))
        let before = try memory("VmRSS")
        let error = await networkError { try await load(URLRequest(server.url("/"))) }
        #expect(error?.kind == .tooLarge)
        let used = try memory("VmHWM") - before
        #expect(used < 64 << 20, "\(used >> 10) KB")
      }
    }
  }
#endif
