import TestSupport
import Testing

/// Tests that the code in the README and the guides is a piece of a test or an example, which is compiled and run.
@Suite struct SnippetTests {
  /// Returns the Swift and JSON blocks of a page that occur, line for line, in none of the files, and the blocks that are not closed. JSON
  /// occurs in a literal, which a test compares with what it encodes.
  static func findings(in page: TextFile, comparedWith files: [TextFile]) -> [String] {
    page.blocks.compactMap { block in
      let isClosed = page.lines[block.lines.upperBound...].first?.trimmed == "```"
      let snippet = page.lines[block.lines].withoutCommonIndentation
      let isFine =
        switch block.language {
        case "json": files.contains { $0.quotes(snippet) }
        case let language where language.hasPrefix("swift"): files.contains { $0.compiles(snippet) }
        default: true
        }
      return isClosed && isFine ? nil : page.finding(block.lines.lowerBound - 1, "is not compiled, or not closed")
    }
  }

  @Test("Every snippet of the README and the guides is compiled")
  func pages() throws {
    let compiled = try Checkout.files(under: "Tests", "Examples")
    let guides = try Checkout.files(under: "Sources", ending: ".md")
    for page in try guides + [TextFile("README.md", Checkout.text(of: "README.md"))] {
      #expect(Self.findings(in: page, comparedWith: compiled) == [])
    }
  }

  private static let example = TextFile(
    "A.swift",
    #"""
    let a = 1

      if a > 0 {
        g(a)
      }
    // let commented = 1
    let text = """
      let quoted = 1
      """
    """#)

  @Test(
    "A piece of a file is accepted, and a piece that differs, skips lines, or is a comment or a literal is found",
    arguments: [
      ("if a > 0 {\n  g(a)\n}", 0), ("let a = 1\n\n  if a > 0 {", 0), ("// let commented = 1\nlet text = \"\"\"", 0),
      ("let a = 2", 1), ("let a = 1\nif a > 0 {", 1), ("if a > 0 {\ng(a)\n}", 1), ("if a > 0 {\n  …", 1),
      ("// let commented = 1", 1), ("let commented = 1", 1), ("let quoted = 1", 1), ("g(a", 1), ("", 1),
    ])
  func pieces(_ snippet: String, count: Int) {
    let page = TextFile("A.md", "  ```swift\n\(snippet)\n  ```\n```sh\nlet x\n```\n")
    #expect(Self.findings(in: page, comparedWith: [Self.example]).count == count)
  }

  @Test("JSON is accepted if it is in a literal", arguments: [("let quoted = 1", 0), ("let a = 1", 1), ("{}", 1)])
  func json(_ snippet: String, count: Int) {
    let page = TextFile("A.md", "```json\n\(snippet)\n```\n")
    #expect(Self.findings(in: page, comparedWith: [Self.example]).count == count)
  }

  @Test("An unclosed block is found")
  func unclosed() {
    for text in ["```swift\nlet a = 1", "```sh\nls\n```swift\nlet a = 2\n```\n"] {
      #expect(!Self.findings(in: TextFile("A.md", text), comparedWith: [Self.example]).isEmpty)
    }
  }
}

extension TextFile {
  /// Returns the fenced blocks of a Markdown page, without their fences. A block that is not closed extends to the end.
  var blocks: [(language: String, lines: Range<Int>)] {
    let fences = lines.indices.filter { lines[$0].trimmed.hasPrefix("```") }
    return stride(from: 0, to: fences.count, by: 2).map { index in
      let end = index + 1 < fences.count ? fences[index + 1] : lines.count
      return (String(lines[fences[index]].trimmed.dropFirst(3)), fences[index] + 1..<end)
    }
  }

  /// Returns whether the lines occur consecutively in the file, and at least one of them is code.
  fileprivate func compiles(_ snippet: [String]) -> Bool {
    places(of: snippet).contains { piece in
      !literal.contains(piece.lowerBound) && code[piece].contains { !$0.trimmed.isEmpty }
    }
  }

  /// Whether the lines occur here consecutively, in a multiline literal.
  fileprivate func quotes(_ snippet: [String]) -> Bool {
    places(of: snippet).contains { piece in literal.isSuperset(of: piece) }
  }

  private func places(of snippet: [String]) -> [Range<Int>] {
    guard let first = snippet.first?.trimmed, text.has(first), lines.count >= snippet.count else { return [] }
    return (0...lines.count - snippet.count).map { $0..<$0 + snippet.count }.filter { piece in
      // Trimming takes longer than searching, so a line is trimmed only if it contains the text.
      lines[piece.lowerBound].has(first) && lines[piece.lowerBound].trimmed == first
        && lines[piece].withoutCommonIndentation == snippet
    }
  }
}

extension ArraySlice<String> {
  /// Returns the lines without their common indentation, and without trailing white space.
  fileprivate var withoutCommonIndentation: [String] {
    let common = filter { !$0.trimmed.isEmpty }.map(\.indentation).min() ?? 0
    return map { $0.trimmed.isEmpty ? "" : String(repeating: " ", count: $0.indentation - common) + $0.trimmed }
  }
}
