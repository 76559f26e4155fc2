/// One line of a program's output, without its line break.
public struct ProcessLine: Hashable, Sendable {
  /// The output that a line was written to.
  public enum Source: Hashable, Sendable {
    /// The standard output.
    case output
    /// The standard error.
    case error
  }

  /// The text. Bytes that are not UTF-8 become U+FFFD.
  public var text: String
  /// The output that the line was written to.
  public var source: Source

  /// Creates a line.
  public init(_ text: String, from source: Source = .output) {
    self.text = text
    self.source = source
  }
}
