import Foundation

/// A file to which several processes append lines, each line at once.
struct RecordFile: Sendable {
  private let url: URL

  init(_ url: URL) throws {
    self.url = url
  }

  /// The lines. A last line without its end, of a process that was killed, does not count.
  var lines: [String] {
    guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  func append(_ line: String) throws {
    // No link may lead the line to another file.
    let file = open(url.path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw DemoError("\(url.path) cannot be written: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    // One call of the system: the line is there as a whole, or not at all.
    let bytes = Array("\(line)\n".utf8)
    guard write(file, bytes, bytes.count) == bytes.count else { throw DemoError("\(url.path) is not written") }
  }
}
