extension Markdown {
  /// The Swift blocks that are not a piece of these compiled files, line for line.
  func findingsOnSnippets(in files: [SourceFile]) -> [Finding] {
    blocks.filter { $0.language == "swift" }.compactMap { block in
      let snippet = block.lines.withoutCommonIndentation
      if snippet.allSatisfy(\.isBlank) { return finding(block.line, "has an empty snippet") }
      if files.contains(where: { $0.compiles(snippet) }) { return nil }
      let title = snippet.first { !$0.isBlank } ?? ""
      return finding(block.line, "has a snippet that no compiled example or test contains: \(title)")
    }
  }
}

extension SourceFile {
  /// Whether the lines stand in this file as code, in a row, at whatever indentation.
  fileprivate func compiles(_ snippet: [Substring]) -> Bool {
    guard snippet.count <= lines.count else { return false }
    let first = snippet[0].trimmed
    return (0...(lines.count - snippet.count)).contains { start in
      lines[start].trimmed == first
        && lines[start..<(start + snippet.count)].withoutCommonIndentation == snippet
        && isCode(fromLine: start + 1, toLine: start + snippet.count)
    }
  }

  /// Whether something in these lines is compiled, and none of it is a literal's or a block comment's inside.
  private func isCode(fromLine first: Int, toLine last: Int) -> Bool {
    code.contains { $0.line >= first && $0.lastLine <= last }
      && !(code + comments).contains { $0.line < first && $0.lastLine >= first }
  }
}
