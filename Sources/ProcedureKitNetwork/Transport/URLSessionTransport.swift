import ProcedureKit

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A transport over `URLSession`.
///
/// A transport owns one session, whose idle connections are closed with the transport. Without a configuration of one's own, the
/// session keeps no cookies, credentials or cached responses, so that a request carries only what its `URLRequest` says. The
/// `timeoutInterval` of a request (60 s by default; whole seconds on Linux) limits how long nothing may come.
public final class URLSessionTransport: HTTPTransport {
  /// The transport of all procedures that have no other.
  public static let shared = URLSessionTransport()

  /// A configuration without cookies, credentials and cache.
  ///
  /// At most 256 connections go to one host at a time. Bound the transfers by the width of a queue.
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
  private let control: SessionControl

  /// Creates a transport with a session of its own.
  ///
  /// - Parameter configuration: The configuration, which is copied.
  public init(configuration: URLSessionConfiguration = URLSessionTransport.configuration) {
    session = URLSession(
      configuration: configuration, delegate: exchanges, delegateQueue: SessionControl.makeDelegateQueue())
    control = SessionControl(session, exchanges)
  }

  deinit {
    // Breaks the cycle of the session and its delegate. Each exchange keeps its transport, so nothing is under way.
    session.finishTasksAndInvalidate()
  }

  /// Sends the request of an exchange; see ``HTTPTransport/perform(_:)``.
  ///
  /// - Throws: `URLError`; the error of a function of the exchange; `CancellationError`.
  @concurrent public func perform(_ exchange: HTTPExchange) async throws {
    let running = RunningExchange(exchange, control)
    try await ProcedureContext.withCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        running.begin(continuation)
        control.start { [exchanges] session in
          guard running.mayStart() else { return }
          let task = Self.makeTask(for: exchange, in: session)
          exchanges.add(running, of: task)
          task.resume()
          running.didResume(task)
        }
      }
    } onCancel: {
      running.stop(CancellationError())
    }
    withExtendedLifetime(self) {}
  }

  private static func makeTask(for exchange: HTTPExchange, in session: URLSession) -> URLSessionTask {
    switch exchange.body {
    case nil: session.dataTask(with: exchange.request)
    case .data(let data): session.uploadTask(with: exchange.request, from: data)
    case .file(let url): session.uploadTask(with: exchange.request, fromFile: url)
    }
  }
}
