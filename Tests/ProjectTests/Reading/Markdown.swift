/// A Markdown file's fenced blocks, and its other lines.
struct Markdown: Sendable {
  /// A fenced block of code.
  struct Block: Sendable {
    /// The first word after the fence.
    let language: String
    let lines: [Substring]
    /// The line of its opening fence.
    let line: Int
    let isClosed: Bool
  }

  let path: String
  private(set) var lines: [Substring]
  private(set) var blocks: [Block] = []
  /// The lines outside of fences, with their numbers.
  private(set) var prose: [(line: Int, text: Substring)] = []

  init(_ path: String, _ text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    var index = 0
    while index < lines.count {
      guard let fence = Self.fence(of: lines[index]) else {
        prose.append((index + 1, lines[index]))
        index += 1
        continue
      }
      let content = lines[(index + 1)...].prefix { Self.fence(of: $0)?.closes(fence) != true }
      blocks.append(
        Block(
          language: fence.language, lines: Array(content), line: index + 1, isClosed: content.endIndex < lines.count))
      index = content.endIndex + 1
    }
  }

  /// What stands between single backticks in the prose.
  var codeSpans: [(line: Int, text: Substring)] {
    prose.flatMap { line, text in
      let parts = text.split(separator: "`", omittingEmptySubsequences: false)
      return parts.indices.filter { $0 % 2 == 1 && $0 < parts.count - 1 }.map { (line, parts[$0]) }
    }
  }

  /// Whether a reader finds this command on a line of a block, or as code in the text.
  func names(command: String) -> Bool {
    codeSpans.contains { $0.text == command } || blocks.contains { $0.lines.contains { $0.trimmed == command } }
  }
}

extension Markdown {
  private struct Fence {
    let mark: Substring
    let language: String

    func closes(_ opening: Fence) -> Bool {
      language.isEmpty && mark.first == opening.mark.first && mark.count >= opening.mark.count
    }
  }

  private static func fence(of line: Substring) -> Fence? {
    let text = line.drop { $0 == " " }
    guard let character = text.first, character == "`" || character == "~" else { return nil }
    let mark = text.prefix { $0 == character }
    guard mark.count >= 3 else { return nil }
    let words = text.dropFirst(mark.count).split(separator: " ")
    return Fence(mark: mark, language: words.first.map { $0.lowercased() } ?? "")
  }
}
