public import Foundation
import ProcedureKit

/// The error that is thrown if a trace could not be written.
public struct TraceError: Error, CustomStringConvertible, LocalizedError {
  /// The file of the trace.
  public let file: URL
  /// The system's error.
  public let underlying: any Error

  /// The file, the reason, and the fact that the trace is incomplete.
  public var description: String {
    "the trace \(file.path.inOneLine) is incomplete: writing it failed: \(underlying.localizedDescription)"
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
