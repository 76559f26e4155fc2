#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import ProcedureKit
  import ProcedureKitNetwork
  import Synchronization
  import Testing

  /// Tests servers that respond or close the connection while the body of the request is still being sent or produced.
  @Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct RefusedBodyTests {
    private struct Broken: Error {}

    enum Source: CaseIterable {
      /// Bytes that are available from the start.
      case bytes
      /// An endless stream, with or without a length.
      case endless, endlessWithLength
      /// A stream that produces one piece, and stops.
      case silent, silentWithLength

      static let long: Int64 = 50_000_000

      func body(_ count: @escaping @Sendable () -> Void = {}) -> HTTPBody {
        switch self {
        case .bytes: return .data(Data(count: Int(Self.long)))
        case .endless, .endlessWithLength:
          let stream = HTTPBodyStream(byteCount: self == .endless ? nil : Self.long) {
            AsyncStream {
              count()
              return Data(count: 50_000)
            }
          }
          return .stream(stream)
        case .silent, .silentWithLength:
          let stream = HTTPBodyStream(byteCount: self == .silent ? nil : Self.long) {
            AsyncStream { $0.yield(Data(count: 50_000)) }
          }
          return .stream(stream)
        }
      }
    }

    /// The data that an exchange has received.
    private final class Answer: Sendable {
      let status = Mutex(0)
      let body = Mutex(Data())

      var text: String { "\(status.withLock { $0 }) \(body.withLock { String(decoding: $0, as: UTF8.self) })" }
    }

    /// Sends a body. Returns the status and the text of the answer.
    private func send(
      _ body: HTTPBody, to url: URL, with transport: CurlTransport? = CurlTransport(),
      onHead: @escaping @Sendable () -> Void = {}
    ) async throws -> String {
      let answer = Answer()
      let exchange = HTTPExchange(
        URLRequest(url, "PUT"), body: body,
        onResponse: { response in
          answer.status.withLock { $0 = response.statusCode }
          onHead()
        }, onData: { data in answer.body.withLock { $0 += data } })
      try await #require(transport).perform(exchange)
      return answer.text
    }

    /// Sends a body that is refused. The last byte of the response arrives when the transport's thread has performed fifty other transfers
    /// since the head, which would be enough time to send more of the body.
    private func sendRefused(_ body: HTTPBody, onHead: @escaping @Sendable () -> Void) async throws -> String {
      let (gate, transport) = (ServerGate(), try #require(CurlTransport()))
      let server = try LoopbackServer(
        beforeBody: { $0.method == "PUT" ? .status(413, body: Data("no".utf8)).gated(gate, after: 1) : nil },
        handler: { _ in .ok("a kitten") })
      defer { server.stop() }
      let (heads, head) = AsyncStream.makeStream(of: Void.self)
      async let text = send(body, to: server.url("/"), with: transport) {
        onHead()
        head.yield()
      }
      for await _ in heads.prefix(1) {}
      var load = NetworkDataProcedure()
      load.settings.transport = transport
      for _ in 1...50 { #expect(try await load(URLRequest(server.url("/"))).text == "a kitten") }
      gate.open()
      return try await text
    }

    static let heads = ["Connection: close\r\n", ""]
    static let ends = ["Content-Length: 2\r\n\r\nno", "Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"]

    @Test(
      "A refusal ends the transfer, even if the server stops reading and keeps the connection open",
      arguments: Source.allCases)
    func deaf(_ source: Source) async throws {
      for head in Self.heads {
        for end in Self.ends {
          let server = try DeafServer("HTTP/1.1 413 Too Large\r\n\(head)\(end)")
          let text = try await send(source.body(), to: server.url)
          #expect(text == "413 no", "\(head) \(end)")
        }
      }
    }

    @Test("A refusal whose connection is reset after its last byte is the response", arguments: Source.allCases, heads)
    func reset(_ source: Source, _ head: String) async throws {
      let server = try DeafServer("HTTP/1.1 413 Too Large\r\n\(head)Content-Length: 2\r\n\r\nn", rest: "o")
      #expect(try await send(source.body(), to: server.url) { server.continueAndReset() } == "413 no")
    }

    @Test(
      "No more of a refused body is produced while the response arrives",
      arguments: [Source.endless, .endlessWithLength])
    func production(_ source: Source) async throws {
      let (pieces, atHead) = (Counter(), Counter())
      #expect(try await sendRefused(source.body { pieces.add(1) }) { atHead.add(pieces.value) } == "413 no")
      // One piece is waiting, and another is being produced.
      #expect(pieces.value <= atHead.value + 2)
    }

    private final class Counter: Sendable {
      private let count = Mutex(0)
      var value: Int { count.withLock { $0 } }
      func add(_ number: Int) { count.withLock { $0 += number } }
    }

    @Test("A refused body whose source fails afterwards does not affect the response")
    func source() async throws {
      let (pieces, piece) = AsyncThrowingStream.makeStream(of: Data.self)
      piece.yield(Data(count: 10))
      let text = try await sendRefused(.stream(HTTPBodyStream { pieces })) { piece.finish(throwing: Broken()) }
      #expect(text == "413 no")
    }

    /// A response of a server that closes the connection afterwards, and the result for the caller.
    struct Closing: Sendable {
      var response: ServerResponse
      var text: String?

      static let all = [
        Closing(response: .closes), Closing(response: .resets), Closing(response: .ok("ok"), text: "200 ok"),
        Closing(response: .ok("ok").chunked(), text: "200 ok"),
        Closing(response: .ok("ok").withoutLength(), text: "200 ok"),
        Closing(response: .status(204), text: "204 "),
        Closing(response: .status(413, body: Data("no".utf8)), text: "413 no"),
        Closing(response: .ok("okay").truncated(after: 2)),
        Closing(response: .ok("okay").chunked(by: 2).truncated(after: 2)),
        Closing(response: .garbage(Data("HTTP/1.1 200 OK\r\n".utf8))),
      ]
    }

    @Test(
      "A closed connection ends a transfer whose body is still being produced, with the response if there is one",
      arguments: [Source.silent, .silentWithLength])
    func closed(_ source: Source) async throws {
      for closing in Closing.all {
        let server = try LoopbackServer(beforeBody: { _ in closing.response }, handler: { _ in .ok("") })
        defer { server.stop() }
        if let text = closing.text {
          #expect(try await send(source.body(), to: server.url("/")) == text)
        } else {
          await #expect { try await send(source.body(), to: server.url("/")) } throws: {
            ($0 as? URLError)?.code == .networkConnectionLost
          }
        }
        try await server.waitUntilUnconnected()
      }
    }
  }
#endif
