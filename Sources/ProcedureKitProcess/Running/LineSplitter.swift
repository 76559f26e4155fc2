import Foundation

/// A splitter that divides the bytes of an output into lines. A line ends with a line feed, and a carriage return before the line feed is
/// removed.
struct LineSplitter {
  /// The maximum length of a line, in bytes. Longer lines are split, so an output without line breaks uses a limited amount of memory.
  private static let longestLine = 1 << 20

  private var rest = Data()

  /// Adds a chunk and returns the lines that end in it.
  mutating func take(_ chunk: Data) -> [String] {
    var lines: [String] = []
    var start = chunk.startIndex
    while let end = chunk[start...].firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(line(rest + chunk[start..<end]))
      rest = Data()
      start = end + 1
    }
    rest += chunk[start...]
    while rest.count >= Self.longestLine {
      lines.append(line(rest.prefix(Self.longestLine)))
      rest = Data(rest.dropFirst(Self.longestLine))
    }
    return lines
  }

  /// Returns the rest of the output as the last line, if the output does not end with a line break.
  mutating func finish() -> [String] {
    defer { rest = Data() }
    return rest.isEmpty ? [] : [line(rest)]
  }

  private func line(_ bytes: Data) -> String {
    String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
  }
}
