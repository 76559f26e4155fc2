public import Foundation
import ProcedureKit

/// The error that is thrown when a trace cannot be written.
public struct TraceError: Error, CustomStringConvertible, LocalizedError {
  /// The trace file.
  public let file: URL
  /// The system's error.
  public let underlying: any Error

  /// A description that names the file, states that the trace is incomplete, and gives the reason.
  public var description: String {
    "the trace \(file.path.inOneLine) could not be written completely: \(reason)"
  }

  /// The system's description of the underlying error. It is used because Foundation's descriptions can lack the reason or contain two
  /// sentences.
  private var reason: String {
    let cause = (underlying as? CocoaError)?.userInfo[NSUnderlyingErrorKey] as? any Error ?? underlying
    let error = cause as NSError
    guard error.domain == NSPOSIXErrorDomain else { return error.localizedDescription }
    return String(cString: strerror(Int32(error.code)))
  }

  /// The same text as ``description``.
  public var errorDescription: String? { description }
}
