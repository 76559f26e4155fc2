/// Words that the project does without, each with the places that may say it.
struct Vocabulary {
  /// Where files may be excepted: in the engine of the core, and in the testing kit, which has a spawner of its own.
  static let excepted = ["Sources/ProcedureKit/Engine/", "Sources/TestingProcedureKit/"]

  /// One way to write what a rule is about.
  enum Pattern {
    /// Keywords, names and symbols in a row.
    case code(String)
    /// `sleep` or the like, called as a function and not as a method.
    case call(String)
    /// The start of a task: `Task {`, `Task(…`, `Task<Int, Never> {`.
    case taskStart
    /// A word in a comment.
    case comment(String)
  }

  let patterns: [Pattern]
  let complaint: String
  /// The folders or files to which the rule applies.
  let places: [String]
  /// The files that may, by name, as a module's files all differ in name.
  var exceptions: Set<String> = []
  /// A word that, in a comment of the file, says why it is right there.
  var permittingComment: String?

  func findings(in files: [SourceFile]) -> [Finding] {
    files.filter(applies).flatMap { file in
      patterns.flatMap { $0.occurrences(in: file) }.sorted { $0.line < $1.line }.map {
        Finding(path: file.path, line: $0.line, message: "\($0.text) \(complaint)")
      }
    }
  }

  private func applies(to file: SourceFile) -> Bool {
    guard places.contains(where: { file.path == $0 || file.path.hasPrefix($0 + "/") }) else { return false }
    let mayBeExcepted = Self.excepted.contains { file.path.hasPrefix($0) }
    guard !(mayBeExcepted && exceptions.contains("\(file.name).swift")) else { return false }
    return permittingComment.map { word in !file.comments.contains { $0.text.contains(word) } } ?? true
  }
}

extension Vocabulary.Pattern {
  fileprivate func occurrences(in file: SourceFile) -> [(line: Int, text: String)] {
    switch self {
    case .code(let text):
      return found(Lexer.tokens(of: text).map(\.text), text, in: file) { _ in true }
    case .call(let name):
      return found([name, "("], name, in: file) { index in
        index == 0 || ![".", "func"].contains(file.code[index - 1].text)
      }
    case .taskStart:
      return found(["Task"], "Task", in: file) { startsTask(at: $0, in: file.code) }
    case .comment(let word):
      return file.comments.flatMap { comment in
        comment.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
          .filter { $0.element.split { !$0.isLetter }.contains { $0 == word } }
          .map { (comment.line + $0.offset, word) }
      }
    }
  }

  private func found(
    _ words: [String], _ text: String, in file: SourceFile, where isMeant: (Int) -> Bool
  ) -> [(line: Int, text: String)] {
    file.occurrences(of: words).filter(isMeant).map { (file.code[$0].line, text) }
  }

  private func startsTask(at index: Int, in code: [Token]) -> Bool {
    let previous = index > 0 ? code[index - 1].text : ""
    guard previous != "extension", previous != "func", index + 1 < code.count else { return false }
    var next = index + 1
    if code[next].matches("<") {
      guard previous != "->", previous != ":" else { return false }
      var depth = 0
      repeat {
        if code[next].matches("<") { depth += 1 }
        if code[next].matches(">") { depth -= 1 }
        next += 1
      } while next < code.count && depth > 0
    }
    return next < code.count && (code[next].matches("{") || code[next].matches("("))
  }
}
