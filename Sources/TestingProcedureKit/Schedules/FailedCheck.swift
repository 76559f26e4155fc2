/// An expectation that did not hold.
public struct FailedCheck: Error, Hashable, Sendable, CustomStringConvertible {
  /// The comment of the check.
  public var comment: String

  /// The file of the check, as `Module/File.swift`.
  public var fileID: String

  /// The line of the check.
  public var line: UInt

  /// The comment with the file and the line.
  public var description: String {
    "\(comment) (\(fileID):\(line))"
  }
}
