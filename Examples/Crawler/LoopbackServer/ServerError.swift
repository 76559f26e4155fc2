import Foundation

/// An error in the server itself, rather than a simulated fault.
public struct ServerError: Error, CustomStringConvertible {
  /// A sentence that describes the failure.
  public let description: String

  static let stopped = ServerError(description: "the loopback server was stopped while a task was waiting for it")

  /// Returns the error for the system call that has just failed on this thread.
  static func latest(_ call: String) -> ServerError {
    let code = errno
    return ServerError(
      description: "the loopback server could not be started: \(call) failed: \(String(cString: strerror(code)))")
  }
}
