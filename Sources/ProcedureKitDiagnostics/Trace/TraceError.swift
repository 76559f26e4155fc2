public import Foundation
import ProcedureKit

/// A trace could not be written.
public struct TraceError: Error, CustomStringConvertible, LocalizedError {
  /// The file of the trace.
  public let file: URL
  /// The error of the system.
  public let underlying: any Error

  /// The file and the reason, and that the trace is incomplete.
  public var description: String {
    "the trace \(file.path.inOneLine) is incomplete: writing it failed: \(underlying.localizedDescription)"
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
