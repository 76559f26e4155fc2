/// The failure of an earlier run, for a procedure that remembers failures, too.
///
/// The original error ended with its process; its description is left.
public struct RememberedFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path of the procedure or the node in the journal.
  public let path: String
  /// The description of the original error. The description of this error is the same.
  public let description: String

  /// Makes a failure, for tests.
  ///
  /// - Parameters:
  ///   - path: The path of the procedure or the node in the journal.
  ///   - description: The description of the original error.
  public init(path: String, description: String) {
    self.path = path
    self.description = description
  }
}
