public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A procedure that sends a request with a body, of bytes or of a file, and returns the response with the bytes of its body.
///
/// ```swift
/// let upload = NetworkUploadProcedure("upload").resilient()
/// let request = HTTPPayloadRequest(.file(photograph), to: url, method: "PUT", contentType: "image/png")
/// let response = try await queue.run(upload, input: request)
/// ```
///
/// A file is read while the request is sent, and must not change meanwhile. Redirects that keep the method send the body again;
/// see ``RedirectPolicy``. A server may answer before the whole body was sent, and the rest is not sent then.
///
/// *Cancelling* ends the transfer: the procedure finishes when the connection is closed.
public struct NetworkUploadProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// How many bytes the body of the response may have, decompressed. A longer body ends the transfer.
  public var sizeLimit = 16 << 20
  /// Whether a status is a success; otherwise the procedure fails with ``NetworkError/Kind-swift.struct/unacceptableStatus``.
  public var acceptsStatus: @Sendable (HTTPStatusCode) -> Bool = { _ in true }
  /// Which redirects are followed.
  public var redirects = RedirectPolicy()
  /// Called after each piece that was sent or received, one call after the other, on a thread of the transport; the function
  /// must return soon.
  public var onProgress: (@Sendable (NetworkProgress) -> Void)?
  /// The means to send the request.
  public var transport: any HTTPTransport = URLSessionTransport.shared

  /// Creates a procedure.
  public init(_ name: String = "upload") {
    self.name = name
  }

  /// Sends a request with its body, and collects the body of the response. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL, with a method that has a body.
  /// - Returns: The response and its body.
  /// - Throws: ``NetworkError``; `CancellationError`.
  @concurrent public func execute(_ request: HTTPPayloadRequest) async throws -> HTTPPayloadResponse<Data> {
    try request.checkFile()
    let body = CollectedBody(limit: sizeLimit)
    let transfer = Transfer(
      transport: transport, redirects: redirects, acceptsStatus: acceptsStatus, onProgress: onProgress)
    let response = try await transfer.perform(request.urlRequest, body: request.body, into: body)
    return HTTPPayloadResponse(body.data, response)
  }
}

extension HTTPPayloadRequest {
  /// Checks that the file of the body can be opened, before a connection is made.
  fileprivate func checkFile() throws(NetworkError) {
    guard case .file(let url) = body else { return }
    var isFolder: ObjCBool = false
    if FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue {
      throw NetworkError(.fileFailed, urlRequest, "\(url.path) is a folder")
    }
    do {
      try FileHandle(forReadingFrom: url).close()
    } catch {
      throw NetworkError(.fileFailed, urlRequest, "the file \(url.path) cannot be read", underlying: error)
    }
  }
}
