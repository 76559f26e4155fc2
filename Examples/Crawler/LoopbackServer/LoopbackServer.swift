public import Foundation

/// A small HTTP/1.1 server for tests and demonstrations. It listens on 127.0.0.1 or `[::1]`, and can simulate faults.
///
/// ```swift
/// let server = try LoopbackServer { request in
///   request.attempt < 3 ? .status(503, headers: ["Retry-After": "1"]) : .ok("a kitten")
/// }
/// defer { server.stop() }
/// let (data, _) = try await URLSession.shared.data(from: server.url("/kitten"))
/// ```
///
/// The system chooses the port. Each connection has a separate thread, so blocking reads do not occupy threads of Swift's concurrency
/// runtime. By default, a connection is closed after one request. If a server is deallocated without a call to ``stop()``, it stops without
/// waiting for its threads.
public final class LoopbackServer: Sendable {
  private let core: ServerCore

  private let host: String

  /// The port that the system chose.
  public let port: Int

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - keepsConnections: Whether a connection can be used for several requests in sequence.
  ///   - isIPv6: Whether the server listens on `[::1]`.
  ///   - beforeBody: A closure that is called when the head of a request has arrived. If it returns a response, that response is sent
  ///     immediately, without reading the body of the request. If it returns `nil`, the body is read, and `handler` is called.
  ///   - handler: A closure that returns the response to a request. It is called on the connection's thread, possibly in parallel with
  ///     calls for other connections.
  /// - Throws: ``ServerError`` if the system has no socket or port left.
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
  ///   - path: The path, optionally with a query. It must start with a slash and be percent-encoded where necessary.
  ///   - host: Another name for the loopback interface, such as `localhost`; `nil` for the server's IP address.
  /// - Returns: The address.
  public func url(_ path: String, host: String? = nil) -> URL {
    .loopback(host: host ?? self.host, port: port, path: path)
  }

  /// The requests that have arrived so far, in order.
  public var requests: [ServerRequest] { core.state.value.requests }

  /// Returns the requests for a path that have arrived so far, in order.
  public func requests(to path: String) -> [ServerRequest] {
    requests.filter { $0.path == path }
  }

  /// The number of open connections. A connection whose requests have been answered is counted until it is closed.
  public var openConnections: Int { core.state.value.open.count }

  /// The largest number of requests that the server has answered at the same time so far.
  public var peakRequests: Int { core.state.value.peak }

  /// Waits until at least `count` requests have arrived, including those that arrived before this call.
  ///
  /// - Throws: `CancellationError` if the task is cancelled; ``ServerError`` if the server stops first.
  public func waitForRequests(_ count: Int) async throws {
    try await core.state.wait { $0.requests.count >= count ? .met : $0.isStopped ? .never : .notYet }
  }

  /// Waits until all connections are closed.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  public func waitUntilUnconnected() async throws {
    try await core.state.wait { $0.open.isEmpty ? .met : .notYet }
  }

  /// Closes the port and all connections, and returns once all threads of the server have ended.
  ///
  /// Unfinished responses are abandoned, for example those that are waiting at a gate. Handlers that are executing are not interrupted.
  public func stop() {
    core.beginStop()
    core.threads.wait()
  }
}
