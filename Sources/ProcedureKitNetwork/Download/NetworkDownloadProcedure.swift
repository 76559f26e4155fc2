public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A procedure that sends a request and writes the response body to a file.
///
/// ```swift
/// let download = NetworkDownloadProcedure("photograph", to: folder.appending(path: "kitten.png")).resilient()
/// let response = try await queue.run(download, input: URLRequest(url: url))
/// ```
///
/// The body is first written to a hidden `.part` file in the destination's folder. Once the body is complete, the hidden file is moved to
/// the destination, where it replaces any existing file. Until then, the existing file is not touched. The hidden file is removed if the
/// procedure fails or is cancelled, but remains if the process is killed. If the length of the body is known, the procedure reports the
/// number of bytes received as its progress, including bytes from earlier attempts.
///
/// *Cancelling* the procedure ends the transfer. The procedure finishes once the connection is closed and the unfinished file has been
/// removed.
public struct NetworkDownloadProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// A closure that returns the file for a request. The file's folder must exist.
  ///
  /// If you take a file name from a URL that you do not trust, validate the name first: `lastPathComponent` can contain slashes that were
  /// encoded as `%2F`.
  public var destination: @Sendable (URLRequest) -> URL
  /// The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport. If the status of a response is
  /// not accepted, no file is written.
  public var settings: TransferSettings

  /// Creates a procedure that always writes to the same file.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - destination: The file to which the body is written.
  ///   - settings: The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public init(_ name: String = "download", to destination: URL, _ settings: TransferSettings = .download) {
    self.init(name, to: { _ in destination }, settings)
  }

  /// Creates a procedure that chooses a file for each request.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - destination: A closure that returns the file for a request.
  ///   - settings: The size limit, the accepted statuses, the redirect policy, the progress settings, and the transport.
  public init(
    _ name: String = "download", to destination: @escaping @Sendable (URLRequest) -> URL,
    _ settings: TransferSettings = .download
  ) {
    self.name = name
    self.destination = destination
    self.settings = settings
  }

  /// Sends a request and writes the response body to the file. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL.
  /// - Returns: The response and the file.
  /// - Throws: ``NetworkError`` if the request is invalid, the transfer fails, or the file cannot be written; any error that
  ///   ``TransferSettings/onRedirect`` throws; `CancellationError` if the procedure is cancelled.
  @concurrent public func execute(_ request: URLRequest) async throws -> HTTPPayloadResponse<URL> {
    let file = PartialFile(for: destination(request), limit: settings.sizeLimit)
    defer { file.remove() }
    return try await attempt(request, to: file)
  }

  /// Makes an attempt, which continues after the data that earlier attempts have received.
  func attempt(_ request: URLRequest, to file: PartialFile) async throws -> HTTPPayloadResponse<URL> {
    try await settings.hidingCredentials { try await download(request, to: file) }
  }

  private func download(_ request: URLRequest, to file: PartialFile) async throws -> HTTPPayloadResponse<URL> {
    try request.check()
    try file.open(for: request)
    var response: ReceivedResponse
    repeat {
      do {
        response = try await perform(request, to: file)
      } catch let error as NetworkError where error.status == 416 {
        if let head = file.end(at: error.response) {
          // The length was unknown to the server, and the previous part turned out to be the last one.
          response = ReceivedResponse(head)
        } else {
          guard file.forget() else { throw error }
          // The server now has a different, shorter version.
          response = try await perform(request, to: file)
        }
      }
      // A server may send less than was requested. This is not a failure as long as each part adds data.
    } while file.needsNextPart
    try ProcedureContext.checkCancellation()
    try file.moveToDestination()
    return HTTPPayloadResponse(file.destination, response, hiding: settings.redirects.credentialHeaders)
  }

  private func perform(_ request: URLRequest, to file: PartialFile) async throws -> ReceivedResponse {
    var settings = settings
    if let onRedirect = settings.onRedirect {
      // The caller's closure may send the next request itself, in a new download. If that request contained a range, the new download would
      // mistake the part for the complete file.
      settings.onRedirect = { try await onRedirect(PartialFile.withoutPart($0, of: request)) }
    }
    return try await Transfer(settings).perform(file.asking(request), into: file)
  }
}
