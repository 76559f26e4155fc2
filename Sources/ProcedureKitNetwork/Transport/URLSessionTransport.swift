import ProcedureKit

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A transport that uses `URLSession`.
///
/// This is the default transport on Apple platforms, and on Linux if libcurl is not available; see ``DefaultHTTPTransport``. Each transport
/// owns a session, whose idle connections are closed when the transport is deallocated. By default, the session stores no cookies,
/// credentials or cached responses, so a request contains only what its `URLRequest` specifies. The `timeoutInterval` of a request limits
/// how long the transport waits without receiving any data. The interval is 60 s by default, and is rounded to whole seconds on Linux.
///
/// On Linux, `URLSession` is less robust than ``CurlTransport``: a hostile server can crash or stall the process, a waiting request keeps a
/// CPU core busy, unread bytes accumulate without limit, and cancellation does not take effect while a server is sending quickly.
public final class URLSessionTransport: HTTPTransport {
  /// The transport that procedures share, unless they use libcurl; see ``DefaultHTTPTransport``.
  public static let shared = URLSessionTransport()

  /// A configuration that stores no cookies, credentials or cached responses.
  ///
  /// The configuration allows at most 256 connections to a host at a time. Use the `maxConcurrentProcedures` of a queue to limit the number
  /// of concurrent transfers.
  public static var configuration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCredentialStorage = nil
    configuration.httpMaximumConnectionsPerHost = 256
    return configuration
  }

  private let exchanges = SessionExchanges()
  private let session: URLSession

  /// Creates a transport with its own session.
  ///
  /// - Parameter configuration: The configuration, which is copied.
  public init(configuration: URLSessionConfiguration = URLSessionTransport.configuration) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: queue)
  }

  deinit {
    // This breaks the reference cycle between the session and its delegate. No exchange is running, because each exchange retains its
    // transport.
    session.finishTasksAndInvalidate()
  }

  /// Sends the request of an exchange; see ``HTTPTransport/perform(_:)``.
  ///
  /// - Throws: `URLError` if the transfer fails; ``NetworkError`` if a file cannot be read; any error thrown by a function of the exchange;
  ///   `CancellationError` if the caller is cancelled.
  @concurrent public func perform(_ exchange: HTTPExchange) async throws {
    guard case .stream(let stream) = exchange.body else { return try await perform(exchange, exchange.body) }
    // A session sometimes sends a body again without calling this code. This works for bytes and files, but not for streams.
    let file = try await stream.collected(exchange.request)
    defer { try? FileManager.default.removeItem(at: file) }
    try await perform(exchange, .file(file))
  }

  private func perform(_ exchange: HTTPExchange, _ body: HTTPBody?) async throws {
    try body?.checkFile(exchange.request)
    let running = RunningExchange(exchange)
    try await ProcedureContext.withCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        running.begin(continuation)
        guard running.mayStart() else { return }
        let task = makeTask(exchange.request, body)
        exchanges.add(running, of: task)
        task.resume()
        running.didResume(task)
      }
    } onCancel: {
      running.stop(CancellationError())
    }
    withExtendedLifetime(self) {}
  }

  private func makeTask(_ request: URLRequest, _ body: HTTPBody?) -> URLSessionTask {
    switch body {
    case .data(let data): session.uploadTask(with: request, from: data)
    case .file(let url): session.uploadTask(with: request, fromFile: url)
    case nil, .stream: session.dataTask(with: request)
    }
  }
}

extension HTTPBodyStream {
  /// Writes the pieces to a temporary file, which the caller must remove.
  func collected(
    _ request: URLRequest, in folder: URL = FileManager.default.temporaryDirectory
  ) async throws -> URL {
    let file = folder.appending(path: "ProcedureKit-\(UUID().uuidString)")
    func stored<R>(_ body: () throws -> R) throws -> R {
      do {
        return try body()
      } catch {
        let detail = "the request body could not be written to a temporary file"
        throw NetworkError(.fileFailed, request, detail, underlying: error)
      }
    }
    do {
      try stored { try Data().write(to: file, options: .withoutOverwriting) }
      let handle = try stored { try FileHandle(forWritingTo: file) }
      defer { try? handle.close() }
      var count: Int64 = 0
      try await forEachPiece { piece in
        count += Int64(piece.count)
        try stored { try handle.write(contentsOf: piece) }
      }
      if let byteCount, byteCount != count { throw HTTPBody.stream(self).lengthError(request) }
      return file
    } catch {
      try? FileManager.default.removeItem(at: file)
      throw error
    }
  }
}
