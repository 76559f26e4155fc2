/// An expectation that did not hold.
public struct FailedCheck: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was expected, in the words of whoever wrote the check.
  public var comment: String

  /// The file of the check, as `Module/File.swift`.
  public var fileID: String

  /// The line of the check.
  public var line: UInt

  /// The comment and where it stands.
  public var description: String {
    "\(comment) (\(fileID):\(line))"
  }
}
