public import Foundation

/// A small HTTP/1.1 server on 127.0.0.1, or on `[::1]`, for tests and demonstrations, with faults on request.
///
/// ```swift
/// let server = try LoopbackServer { request in
///   request.attempt < 3 ? .status(503, headers: ["Retry-After": "1"]) : .ok("a kitten")
/// }
/// defer { server.stop() }
/// let (data, _) = try await URLSession.shared.data(from: server.url("/kitten"))
/// ```
///
/// The system chooses the port. Each connection has a separate thread, and usually answers one request and is closed, so blocking
/// reads occupy no thread of Swift's concurrency. A server that is dropped without ``stop()`` stops without waiting.
public final class LoopbackServer: Sendable {
  private let core: ServerCore

  private let host: String

  /// The port that the system chose.
  public let port: Int

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - keepsConnections: Whether a connection answers several requests in sequence.
  ///   - isIPv6: Whether the address is `[::1]`.
  ///   - beforeBody: Called when the head of a request has arrived. A returned response is sent immediately, without reading the
  ///     body of the request; `nil` reads the body and calls `handler`.
  ///   - handler: Returns the response to a request. Called on the thread of the connection, concurrently for several
  ///     connections.
  /// - Throws: ``ServerError`` when the system has no socket or port left.
  public init(
    keepsConnections: Bool = false, isIPv6: Bool = false,
    beforeBody: @escaping @Sendable (ServerRequest) -> ServerResponse? = { _ in nil },
    handler: @escaping @Sendable (ServerRequest) -> ServerResponse
  ) throws {
    let listener = try Socket.bound(isListening: true, isIPv6: isIPv6)
    host = isIPv6 ? "[::1]" : "127.0.0.1"
    port = try listener.closingOnError { try $0.port }
    core = ServerCore(keepsConnections: keepsConnections, beforeBody: beforeBody, handler: handler)
    core.start(listener)
  }

  deinit {
    core.beginStop()
  }

  /// Returns the address of a path on the server.
  ///
  /// - Parameters:
  ///   - path: The path, which begins with a slash, and optionally a query; percent-encoded where needed.
  ///   - host: Another name for the loopback interface, such as `localhost`; `nil` for the address.
  /// - Returns: The address.
  public func url(_ path: String, host: String? = nil) -> URL {
    .loopback(host: host ?? self.host, port: port, path: path)
  }

  /// The requests so far, in the order of their arrival.
  public var requests: [ServerRequest] { core.state.value.requests }

  /// Returns the requests to a path so far, in the order of their arrival.
  public func requests(to path: String) -> [ServerRequest] {
    requests.filter { $0.path == path }
  }

  /// The number of open connections, including those that the client has not closed yet.
  public var openConnections: Int { core.state.value.open.count }

  /// The largest number of requests that were being answered at the same time.
  public var peakRequests: Int { core.state.value.peak }

  /// Waits until the given number of requests have arrived since the start, including past ones.
  ///
  /// - Throws: `CancellationError` when the task is cancelled; ``ServerError`` when the server stops first.
  public func waitForRequests(_ count: Int) async throws {
    try await core.state.wait { $0.requests.count >= count ? .met : $0.isStopped ? .never : .notYet }
  }

  /// Waits until no connection is open: every client has closed its side.
  ///
  /// - Throws: `CancellationError` when the task is cancelled.
  public func waitUntilUnconnected() async throws {
    try await core.state.wait { $0.open.isEmpty ? .met : .notYet }
  }

  /// Closes the port and every connection, and returns when no thread of the server is left.
  ///
  /// Responses that wait at a gate, pause or never arrive are abandoned. Executing handlers are awaited.
  public func stop() {
    core.beginStop()
    core.threads.wait()
  }
}
