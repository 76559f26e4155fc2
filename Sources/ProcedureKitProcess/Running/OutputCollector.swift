import Foundation

/// A collector for the bytes and lines that a program writes to one of its outputs.
struct OutputCollector {
  let source: ProcessLine.Source
  /// The maximum number of bytes that are kept.
  let limit: Int
  private(set) var kept = Data()
  private(set) var droppedCount = 0
  private var splitter = LineSplitter()
  private let splitsLines: Bool

  init(_ source: ProcessLine.Source, limit: Int, splitsLines: Bool) {
    self.source = source
    self.limit = limit
    self.splitsLines = splitsLines
  }

  /// Keeps bytes up to the limit and returns the lines that they complete.
  mutating func take(_ part: Data) -> [ProcessLine] {
    let room = max(limit - kept.count, 0)
    kept += part.prefix(room)
    droppedCount += max(part.count - room, 0)
    return splitsLines ? splitter.take(part).map { ProcessLine($0, from: source) } : []
  }

  /// Returns the rest of the output as the last line, if the output does not end with a line break.
  mutating func finish() -> [ProcessLine] {
    splitter.finish().map { ProcessLine($0, from: source) }
  }
}
