import Foundation

/// An error of the server itself.
public struct ServerError: Error, CustomStringConvertible {
  /// What has happened.
  public let description: String

  static let stopped = ServerError(description: "the loopback server was stopped while somebody waited for it")

  /// The error of the system call on this thread that failed last.
  static func latest(_ call: String) -> ServerError {
    let code = errno
    return ServerError(
      description: "the loopback server cannot be started: \(call): \(String(cString: strerror(code)))")
  }
}
