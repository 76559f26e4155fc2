/// A Swift file, its path relative to the package, and what was read in it.
struct SourceFile: Sendable {
  let path: String
  let lines: [Substring]
  /// What the compiler sees: no comments.
  let code: [Token]
  let comments: [Token]
  let declarations: Declarations

  init(_ path: String, _ text: String) {
    let tokens = Lexer.tokens(of: text)
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    code = tokens.filter { !$0.isComment }
    comments = tokens.filter(\.isComment)
    declarations = DeclarationReader.declarations(in: code)
  }

  /// The path's components: `["Sources", "ProcedureKit", "Queue", "ProcedureQueue.swift"]`.
  var components: [Substring] { path.split(separator: "/") }

  /// The file's name without its extension.
  var name: Substring { components.last?.split(separator: ".").first ?? "" }

  /// The documentation that ends on the line above `line`, or `nil` where there is none.
  func documentation(above line: Int) -> String? {
    var text: [String] = []
    var next = line - 1
    for comment in comments.reversed() where comment.lastLine == next {
      guard comment.kind == .documentation else { break }
      text.append(comment.text)
      next = comment.line - 1
    }
    return text.isEmpty ? nil : text.reversed().joined(separator: "\n")
  }

  /// The indices at which the code reads as these keywords, names and symbols, in a row.
  func occurrences(of words: [String]) -> [Int] {
    code.indices.filter { start in
      start + words.count <= code.count && words.indices.allSatisfy { code[start + $0].matches(words[$0]) }
    }
  }
}
