public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A procedure that sends a request and returns the response together with the bytes of its body.
///
/// ```swift
/// let load = NetworkDataProcedure("load").resilient()
/// let kitten = try await queue.run(load, input: URLRequest(url: url))
/// ```
///
/// Every status, even 404, is considered a success unless ``TransferSettings/acceptsStatus`` rejects it. Redirects are followed according
/// to ``TransferSettings/redirects``. The procedure fails if the body is shorter than announced, or larger than
/// ``TransferSettings/sizeLimit``. If the length of the body is known, the procedure reports the number of bytes received as its progress.
///
/// To send a body, set the request's `httpBody`, or use ``NetworkUploadProcedure``.
///
/// *Cancelling* the procedure ends the transfer, and the procedure finishes once the connection is closed.
public struct NetworkDataProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public var settings: TransferSettings

  /// Creates a procedure.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - settings: The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public init(_ name: String = "load", _ settings: TransferSettings = TransferSettings()) {
    self.name = name
    self.settings = settings
  }

  /// Sends a request and collects the response body. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL.
  /// - Returns: The response and its body.
  /// - Throws: ``NetworkError`` if the request is invalid or the transfer fails; any error that ``TransferSettings/onRedirect`` throws;
  ///   `CancellationError` if the procedure is cancelled.
  @concurrent public func execute(_ request: URLRequest) async throws -> HTTPPayloadResponse<Data> {
    try await settings.hidingCredentials {
      let body = CollectedBody(limit: settings.sizeLimit)
      let response = try await Transfer(settings).perform(request, into: body)
      return HTTPPayloadResponse(body.data, response, hiding: settings.redirects.credentialHeaders)
    }
  }
}
