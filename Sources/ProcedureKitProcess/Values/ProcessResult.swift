public import Foundation

/// The result of a program, which consists of its outputs and its status.
public struct ProcessResult: Hashable, Sendable {
  /// The ID of the process.
  public var processIdentifier: Int32
  /// The final status of the program.
  public var status: ProcessStatus
  /// The bytes of standard output, up to the procedure's limit.
  public var output: Data
  /// The bytes of standard error, up to the procedure's limit.
  public var errorOutput: Data
  /// The total number of bytes that were discarded because the outputs exceeded the limit.
  public var droppedByteCount: Int

  /// Creates a result for tests.
  public init(
    processIdentifier: Int32 = 0, status: ProcessStatus = .exited(0), output: Data = Data(), errorOutput: Data = Data(),
    droppedByteCount: Int = 0
  ) {
    self.processIdentifier = processIdentifier
    self.status = status
    self.output = output
    self.errorOutput = errorOutput
    self.droppedByteCount = droppedByteCount
  }

  /// Standard output as text. Bytes that are not valid UTF-8 are replaced by U+FFFD.
  public var text: String { String(decoding: output, as: UTF8.self) }

  /// Standard error as text. Bytes that are not valid UTF-8 are replaced by U+FFFD.
  public var errorText: String { String(decoding: errorOutput, as: UTF8.self) }
}
