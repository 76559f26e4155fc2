import Foundation

/// An error of the server itself.
public struct ServerError: Error, CustomStringConvertible {
  /// The failure.
  public let description: String

  static let stopped = ServerError(description: "the loopback server was stopped while a task waited for it")

  /// Returns the error of the last failed system call on this thread.
  static func latest(_ call: String) -> ServerError {
    let code = errno
    return ServerError(
      description: "the loopback server cannot be started: \(call): \(String(cString: strerror(code)))")
  }
}
