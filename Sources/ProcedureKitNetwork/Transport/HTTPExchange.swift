public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A request that an ``HTTPTransport`` sends, together with the receiver of the response.
///
/// A transport calls the functions of an exchange one at a time. It calls ``didSend(totalBytes:)`` while it is sending the body, then
/// `didReceive` once with the response, and then `didReceive` with each piece of the response body.
public struct HTTPExchange: Sendable {
  /// The request. If ``body`` is `nil`, the `httpBody` of the request is sent.
  public let request: URLRequest
  /// The body of the request; `nil` if the request has no body, or if its `httpBody` is sent.
  public let body: HTTPBody?
  private let onSent: @Sendable (Int64) -> Void
  private let onReceived: @Sendable (ReceivedResponse) throws -> Void
  private let onData: @Sendable (Data) throws -> Void

  /// Creates an exchange for testing a transport.
  public init(
    _ request: URLRequest, body: HTTPBody? = nil, onSent: @escaping @Sendable (Int64) -> Void = { _ in },
    onResponse: @escaping @Sendable (HTTPURLResponse) throws -> Void, onData: @escaping @Sendable (Data) throws -> Void
  ) {
    self.init(request, body: body, onSent: onSent, onReceived: { try onResponse($0.object) }, onData: onData)
  }

  /// Creates the exchange for a ``Hop``.
  init(
    _ request: URLRequest, body: HTTPBody?, onSent: @escaping @Sendable (Int64) -> Void,
    onReceived: @escaping @Sendable (ReceivedResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) {
    self.request = request
    self.body = body
    self.onSent = onSent
    self.onReceived = onReceived
    self.onData = onData
  }

  /// Reports how many bytes of the request body have been sent so far.
  public func didSend(totalBytes: Int64) { onSent(totalBytes) }

  /// Reports the head of the response.
  ///
  /// - Throws: An error that ends the transfer.
  public func didReceive(_ response: HTTPURLResponse) throws { try onReceived(ReceivedResponse(response)) }

  /// Reports the head of the response without creating an `HTTPURLResponse`.
  func didReceive(_ response: ReceivedResponse) throws { try onReceived(response) }

  /// Reports a piece of the response body.
  ///
  /// - Throws: An error that ends the transfer.
  public func didReceive(_ data: Data) throws { try onData(data) }
}
