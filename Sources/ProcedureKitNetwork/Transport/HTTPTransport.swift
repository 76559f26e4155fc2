/// A type that sends requests and receives responses, such as ``CurlTransport``, ``URLSessionTransport``, or a substitute for tests.
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
/// A transport does not follow redirects, retry requests, or enforce size limits. The procedures are responsible for that.
public protocol HTTPTransport: Sendable {
  /// Sends the request of an exchange, and passes the response and then its body, in pieces, to the exchange.
  ///
  /// The function returns when the body ends. After the function has returned, no part of the exchange may continue. If the procedure or
  /// the task is cancelled, the function must end the exchange and close its connection, and then throw an error without delay.
  ///
  /// - Throws: An error if the connection fails; any error thrown by a function of the exchange, because such an error ends the transfer;
  ///   `CancellationError` if the procedure or the task is cancelled.
  @concurrent func perform(_ exchange: HTTPExchange) async throws
}
