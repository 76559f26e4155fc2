public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A procedure that sends a request with a body, and returns the response together with the bytes of the response body.
///
/// ```swift
/// let upload = NetworkUploadProcedure("upload").resilient()
/// let request = HTTPPayloadRequest(.file(photograph), to: url, method: "PUT", contentType: "image/png")
/// let response = try await queue.run(upload, input: request)
/// ```
///
/// The body can be bytes in memory, a file, or a stream. A file is read while the request is being sent, and must not change during that
/// time. If a redirect keeps the method, the body is sent again; see ``RedirectPolicy``. If the server refuses the body with a status of
/// 300 or more before the whole body has been sent, ``CurlTransport`` does not send the rest. If the length of the body is known, the
/// procedure reports the number of bytes sent as its progress.
///
/// *Cancelling* the procedure ends the transfer, and the procedure finishes once the connection is closed.
public struct NetworkUploadProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public var settings: TransferSettings

  /// Creates a procedure.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - settings: The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public init(_ name: String = "upload", _ settings: TransferSettings = TransferSettings()) {
    self.name = name
    self.settings = settings
  }

  /// Sends a request with its body and collects the response body. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL, with a method that allows a body.
  /// - Returns: The response and its body.
  /// - Throws: ``NetworkError`` if the request is invalid or the transfer fails; any error that ``TransferSettings/onRedirect`` throws;
  ///   `CancellationError` if the procedure is cancelled.
  @concurrent public func execute(_ request: HTTPPayloadRequest) async throws -> HTTPPayloadResponse<Data> {
    try await settings.hidingCredentials {
      try request.body.checkFile(request.urlRequest)
      let body = CollectedBody(limit: settings.sizeLimit)
      let response = try await Transfer(settings).perform(request.urlRequest, body: request.body, into: body)
      return HTTPPayloadResponse(body.data, response, hiding: settings.redirects.credentialHeaders)
    }
  }
}
