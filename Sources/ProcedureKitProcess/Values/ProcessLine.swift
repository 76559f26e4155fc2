/// One line of a program's output, without its end.
public struct ProcessLine: Hashable, Sendable {
  /// The output to which a line was written.
  public enum Source: Hashable, Sendable {
    /// The standard output.
    case output
    /// The standard error.
    case error
  }

  /// The text. Bytes that are not UTF-8 become U+FFFD.
  public var text: String
  /// The output to which the line was written.
  public var source: Source

  /// Creates a line.
  public init(_ text: String, from source: Source = .output) {
    self.text = text
    self.source = source
  }
}
