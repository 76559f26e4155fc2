/// Sends a request and receives its response: ``CurlTransport``, ``URLSessionTransport``, or a substitute for tests.
///
/// Procedures that do not specify a transport use ``DefaultHTTPTransport``.
///
/// ```swift
/// struct CannedKitten: HTTPTransport {
///   func perform(_ exchange: HTTPExchange) async throws {
///     let url = exchange.request.url!
///     try exchange.didReceive(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: [:])!)
///     try exchange.didReceive(Data("a kitten".utf8))
///   }
/// }
/// ```
///
/// A transport does not follow redirects, retry requests or enforce limits; the procedures do.
public protocol HTTPTransport: Sendable {
  /// Sends the request of an exchange, and passes the response and the pieces of its body to the exchange.
  ///
  /// The function returns when the body has ended, and no part of the exchange continues after that. Cancelling the procedure or the task
  /// ends the exchange: the function throws soon, and leaves no connection open.
  ///
  /// - Throws: The error of the connection; any error thrown by a function of the exchange, which ends the transfer; `CancellationError`.
  @concurrent func perform(_ exchange: HTTPExchange) async throws
}
