import Foundation
import LoadedLibraries

/// A client for unary gRPC calls over HTTP/2 without encryption.
struct GRPCClient: Sendable {
  let host: String
  let service: String

  /// Calls a method. Cancelling the caller ends the call immediately.
  ///
  /// - Throws: ``GRPCError`` if the call fails; `MessageReader.Malformed` if the response is invalid; `CancellationError` if the task is
  ///   cancelled.
  func call(_ method: String, timeout: Duration, _ build: (inout MessageWriter) -> Void) async throws -> MessageReader {
    var message = MessageWriter()
    build(&message)
    guard let loop = CurlLoop.shared else {
      throw GRPCError(status: GRPCError.internalError, message: "\(method): libcurl 7.68 or later was not found")
    }
    let transfer = CurlTransfer(
      "http://\(host)/\(service)/\(method)", GRPCFrame.frame(message.bytes),
      headers: [
        "content-type: application/grpc", "te: trailers", "accept:",
        "grpc-timeout: \(Int(timeout / .milliseconds(1)))m",
      ], timeout: timeout)
    await loop.perform(transfer)
    guard case .done(let code) = transfer.end else { throw CancellationError() }
    guard let status = transfer.headers["grpc-status"].flatMap({ Int($0) }) else {
      let reason = code == CURLE_OK ? "the response has no gRPC status" : String(cString: pk_curl_error_text(code))
      throw GRPCError(status: nil, message: "\(method): \(reason) (curl \(code))")
    }
    guard status == 0 else {
      let message = transfer.headers["grpc-message"].map { $0.removingPercentEncoding ?? $0 } ?? ""
      throw GRPCError(status: status, message: "\(method): \(message)")
    }
    return try MessageReader(try GRPCFrame.message(in: transfer.body, of: method))
  }
}

/// An error that ends a gRPC call.
struct GRPCError: Error, CustomStringConvertible {
  static let notFound = 5
  static let alreadyExists = 6
  static let failedPrecondition = 9
  /// The status of an internal error. The client uses it if a response is invalid or libcurl is missing.
  static let internalError = 13

  /// The status of the response; `nil` if there was no response.
  let status: Int?
  let message: String

  /// Whether the same call could succeed later. This is the case if there was no response, or if the server is overloaded or not ready.
  var isTransient: Bool { [nil, 8, 14].contains(status) }

  var description: String { status.map { "\(message) (gRPC status \($0))" } ?? message }
}
