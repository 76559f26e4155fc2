public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A procedure that sends a request, and returns the response with the bytes of its body.
///
/// ```swift
/// let load = NetworkDataProcedure("load").resilient()
/// let kitten = try await queue.run(load, input: URLRequest(url: url))
/// ```
///
/// Every status is a success unless ``acceptsStatus`` says otherwise, as a 404 may be the answer that was asked for. Redirects are
/// followed as ``redirects`` says. A body that is shorter than announced, or longer than ``sizeLimit``, is an error.
///
/// *Cancelling* ends the transfer: the procedure finishes when the connection is closed. A body that is sent is
/// `httpBody` of the request, or that of ``NetworkUploadProcedure``.
public struct NetworkDataProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// How many bytes the body of the response may have, decompressed. A longer body ends the transfer.
  public var sizeLimit = 16 << 20
  /// Whether a status is a success; otherwise the procedure fails with ``NetworkError/Kind-swift.struct/unacceptableStatus``.
  public var acceptsStatus: @Sendable (HTTPStatusCode) -> Bool = { _ in true }
  /// Which redirects are followed.
  public var redirects = RedirectPolicy()
  /// Called after each piece of the body, one call after the other, on a thread of the transport; the function must return soon.
  public var onProgress: (@Sendable (NetworkProgress) -> Void)?
  /// The means to send the request.
  public var transport: any HTTPTransport = URLSessionTransport.shared

  /// Creates a procedure.
  public init(_ name: String = "load") {
    self.name = name
  }

  /// Sends a request, and collects the body of the response. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL.
  /// - Returns: The response and its body.
  /// - Throws: ``NetworkError``; `CancellationError`.
  @concurrent public func execute(_ request: URLRequest) async throws -> HTTPPayloadResponse<Data> {
    let body = CollectedBody(limit: sizeLimit)
    let transfer = Transfer(
      transport: transport, redirects: redirects, acceptsStatus: acceptsStatus, onProgress: onProgress)
    let response = try await transfer.perform(request, into: body)
    return HTTPPayloadResponse(body.data, response)
  }
}
