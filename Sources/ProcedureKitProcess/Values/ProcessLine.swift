/// A line of a program's output, without its line break. A line of more than 1 MiB is split into several values.
public struct ProcessLine: Hashable, Sendable {
  /// The output to which a line was written.
  @frozen
  public enum Source: Hashable, Sendable {
    /// Standard output.
    case output
    /// Standard error.
    case error
  }

  /// The text of the line. Bytes that are not valid UTF-8 are replaced by U+FFFD.
  public var text: String
  /// The output to which the line was written.
  public var source: Source

  /// Creates a line.
  public init(_ text: String, from source: Source = .output) {
    self.text = text
    self.source = source
  }
}
