import CCurl
import Foundation

/// Unary calls of gRPC over HTTP/2 without encryption.
struct GRPCClient: Sendable {
  let host: String
  let service: String

  /// Calls a method. Cancelling the caller ends the call at once.
  ///
  /// - Throws: ``GRPCError``, `CancellationError`.
  func call(_ method: String, timeout: Duration, _ build: (inout MessageWriter) -> Void) async throws -> MessageReader {
    var message = MessageWriter()
    build(&message)
    let size = UInt32(message.bytes.count)
    let frame = [0] + (0..<4).map { UInt8(truncatingIfNeeded: size >> (24 - 8 * $0)) } + message.bytes
    let transfer = CurlTransfer(
      "http://\(host)/\(service)/\(method)", frame,
      headers: [
        "content-type: application/grpc", "te: trailers", "accept:",
        "grpc-timeout: \(Int(timeout / .milliseconds(1)))m",
      ], timeout: timeout)
    await CurlLoop.shared.perform(transfer)
    guard case .done(let code) = transfer.end else { throw CancellationError() }
    guard let status = transfer.headers["grpc-status"].flatMap({ Int($0) }) else {
      let reason = code == CURLE_OK ? "no gRPC status" : String(cString: curl_easy_strerror(code))
      throw GRPCError(status: nil, message: "\(method): \(reason) (curl \(code.rawValue))")
    }
    guard status == 0 else {
      let message = transfer.headers["grpc-message"].map { $0.removingPercentEncoding ?? $0 } ?? ""
      throw GRPCError(status: status, message: "\(method): \(message)")
    }
    guard transfer.body.count >= 5 else { throw GRPCError(status: nil, message: "\(method): an incomplete answer") }
    return try MessageReader(transfer.body[5...])
  }
}

/// A call that failed.
struct GRPCError: Error, CustomStringConvertible {
  static let notFound = 5
  static let alreadyExists = 6
  static let failedPrecondition = 9

  /// The status of the answer; `nil` without an answer.
  let status: Int?
  let message: String

  /// Whether the same call can succeed later: no answer, or a server that has no room or is not ready.
  var isTransient: Bool { [nil, 8, 14].contains(status) }

  var description: String { status.map { "\(message) (gRPC status \($0))" } ?? message }
}
