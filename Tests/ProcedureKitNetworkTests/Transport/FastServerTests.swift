#if os(Linux)
  import Dispatch
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import ProcedureKitNetwork
  import Synchronization
  import Testing

  /// Tests servers that are faster than the code that processes or produces a body.
  @Suite(.timeLimit(.minutes(10)), .enabled(if: CurlTransport.shared != nil)) struct FastServerTests {
    /// Counts the pieces of a body on an executor with a single thread, and makes sure that the transfer never has to wait for the server.
    private final class Pieces: Sendable {
      private struct State {
        var count = 0
        var hasOtherRun = false
        var isFair: Bool?
      }

      let executor = HeldExecutor()
      private let transport: CurlTransport
      private let innocent: URLRequest
      private let state = Mutex(State())

      init(_ transport: CurlTransport, _ innocent: URL) {
        self.transport = transport
        self.innocent = URLRequest(innocent)
      }

      /// Whether another task of the executor had run before the fourth piece; `nil` if there were fewer pieces.
      var isFair: Bool? { state.withLock { $0.isFair } }

      /// Handles a piece. The first one starts the other task.
      func arrived() {
        let count = state.withLock { state in
          state.count += 1
          if state.count == 4 { state.isFair = state.hasOtherRun }
          return state.count
        }
        if count == 1 { Task(executorPreference: executor) { self.state.withLock { $0.hasOtherRun = true } } }
        if count < 4 { letTransportContinue() }
      }

      /// Blocks the executor's thread until the transport has performed other transfers, which gives it the time to receive or send what
      /// is waiting.
      private func letTransportContinue() {
        let semaphore = DispatchSemaphore(value: 0)
        Task.detached { [transport, innocent] in
          for _ in 1...20 {
            try? await transport.perform(HTTPExchange(innocent, onResponse: { _ in }, onData: { _ in }))
          }
          semaphore.signal()
        }
        semaphore.wait()
      }
    }

    @Test(
      "A task whose body is always available lets other tasks run",
      arguments: ["response", "compressed", "request"])
    func fairness(_ kind: String) async throws {
      let server = try LoopbackServer { request in
        switch request.path {
        case "/response": .ok(Data(count: 2 << 20))
        case "/compressed":
          .ok(Data(repeatElement(BadAnswer.zeros, count: 40).joined()), headers: ["Content-Encoding": "gzip"])
        default: .ok("a kitten")
        }
      }
      defer { server.stop() }
      let transport = try #require(CurlTransport())
      let pieces = Pieces(transport, server.url("/innocent"))
      var request = URLRequest(server.url("/\(kind)"))
      var body: HTTPBody?
      if kind == "request" {
        request.httpMethod = "PUT"
        let count = Mutex(0)
        let makePieces: @Sendable () -> AsyncStream<Data> = {
          AsyncStream {
            pieces.arrived()
            let number = count.withLock { count in
              count += 1
              return count
            }
            return number <= 8 ? Data(count: 1_000) : nil
          }
        }
        body = .stream(HTTPBodyStream(makePieces))
      }
      let exchange = HTTPExchange(
        request, body: body, onResponse: { _ in },
        onData: { _ in if kind != "request" { pieces.arrived() } })
      try await Task(executorPreference: pieces.executor) { try await transport.perform(exchange) }.value
      #expect(pieces.isFair == true)
    }
  }
#endif
