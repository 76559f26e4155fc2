import Foundation

/// A file to which several processes append whole lines.
struct RecordFile: Sendable {
  private let url: URL

  init(_ url: URL) throws {
    self.url = url
  }

  /// The lines in the file. If a process was killed while writing, the incomplete last line is ignored.
  var lines: [String] {
    guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  func append(_ line: String) throws {
    // A link must not redirect the line to another file.
    let file = open(url.path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw DemoError("\(url.path) could not be written: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    // The line is written in one system call, so that it is written completely or not at all.
    let bytes = Array("\(line)\n".utf8)
    guard write(file, bytes, bytes.count) == bytes.count else {
      throw DemoError("a line was only partially written to \(url.path)")
    }
  }
}
