import Foundation

/// Splits the bytes of one output into lines. A line ends with a line feed; a carriage return before it is removed.
struct LineSplitter {
  /// A longer line is split, so that an output without line breaks needs only a limited amount of memory.
  private static let longestLine = 1 << 20

  private var rest = Data()

  /// Returns the lines that end in a chunk.
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

  /// Returns the last line if it does not end with a line break.
  mutating func finish() -> [String] {
    defer { rest = Data() }
    return rest.isEmpty ? [] : [line(rest)]
  }

  private func line(_ bytes: Data) -> String {
    String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
  }
}
