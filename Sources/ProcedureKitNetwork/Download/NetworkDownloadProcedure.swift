public import Foundation
public import ProcedureKit

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A procedure that sends a request, and writes the body of the response to a file.
///
/// ```swift
/// let download = NetworkDownloadProcedure("photograph", to: folder.appending(path: "kitten.png")).resilient()
/// let response = try await queue.run(download, input: URLRequest(url: url))
/// ```
///
/// The body is written to a file beside the destination, which is hidden and has another name, and moved to the destination at the end, when
/// the length is the announced one. A destination that exists is replaced, and otherwise never touched. After a failure or a
/// cancel nothing is left; a process that is killed leaves the hidden file, `.…​.part`. The received bytes are the progress of the
/// procedure, with those of a part that an earlier attempt has received.
///
/// *Cancelling* ends the transfer: the procedure finishes when the connection is closed and the unfinished file is removed.
public struct NetworkDownloadProcedure: Procedure {
  /// The name of the procedure.
  public var name: String
  /// Returns the file for a request. The folder of the file has to exist.
  public var destination: @Sendable (URLRequest) -> URL
  /// The limits, the redirects, the progress and the transport. Nothing is written of a response whose status is not accepted.
  public var settings: TransferSettings

  /// Creates a procedure that writes to one file.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - destination: The file.
  ///   - settings: The limits, the redirects, the progress and the transport.
  public init(_ name: String = "download", to destination: URL, _ settings: TransferSettings = .download) {
    self.init(name, to: { _ in destination }, settings)
  }

  /// Creates a procedure that writes each response to a file of its own.
  ///
  /// - Parameters:
  ///   - name: The name of the procedure.
  ///   - destination: Returns the file for a request.
  ///   - settings: The limits, the redirects, the progress and the transport.
  public init(
    _ name: String = "download", to destination: @escaping @Sendable (URLRequest) -> URL,
    _ settings: TransferSettings = .download
  ) {
    self.name = name
    self.destination = destination
    self.settings = settings
  }

  /// Sends a request, and writes the body of the response to the file. Cancelling the procedure ends the transfer.
  ///
  /// - Parameter request: The request, for an `http` or `https` URL.
  /// - Returns: The response and the file.
  /// - Throws: ``NetworkError``; `CancellationError`.
  @concurrent public func execute(_ request: URLRequest) async throws -> HTTPPayloadResponse<URL> {
    let file = PartialFile(for: destination(request), limit: settings.sizeLimit)
    defer { file.remove() }
    return try await attempt(request, to: file)
  }

  /// Internal. Performs an attempt, which continues the part of the file that is there.
  func attempt(_ request: URLRequest, to file: PartialFile) async throws -> HTTPPayloadResponse<URL> {
    try await settings.hidingCredentials { try await download(request, to: file) }
  }

  private func download(_ request: URLRequest, to file: PartialFile) async throws -> HTTPPayloadResponse<URL> {
    try request.check()
    try file.open(for: request)
    var response: HTTPURLResponse
    repeat {
      do {
        response = try await perform(request, to: file)
      } catch let error as NetworkError where error.status == 416 {
        if let head = file.end(at: error.response) {
          // The server did not know the length, and the last part was the end.
          response = head
        } else {
          guard file.forget() else { throw error }
          // The version on the server is another one by now, and shorter.
          response = try await perform(request, to: file)
        }
      }
      // A server may send less at a time than was requested. As long as each part adds something, this is no failure.
    } while file.needsNextPart
    try ProcedureContext.checkCancellation()
    try file.moveToDestination()
    return HTTPPayloadResponse(file.destination, response)
  }

  private func perform(_ request: URLRequest, to file: PartialFile) async throws -> HTTPURLResponse {
    var settings = settings
    if let onRedirect = settings.onRedirect {
      // A program may send the next request by itself: another download, which has no part yet. Asked for a range, it would take that for the whole.
      settings.onRedirect = { try await onRedirect(PartialFile.withoutPart($0, of: request)) }
    }
    return try await Transfer(settings).perform(file.asking(request), into: file).object
  }
}
