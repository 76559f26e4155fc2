/// Which rules of the design the titles of tests cite.
enum RuleCitations {
  static func uncited(_ rules: [String], in files: [SourceFile]) -> [String] {
    let words = Set(files.flatMap(titles).flatMap { $0.split { !$0.isLetter && !$0.isNumber }.map(String.init) })
    return rules.filter { !words.contains($0) }
  }

  /// The titles of a file's tests that are not disabled.
  private static func titles(of file: SourceFile) -> [String] {
    let code = file.code
    return file.occurrences(of: ["@", "Test"]).compactMap { start in
      let function = code[start...].firstIndex { $0.matches("func") } ?? code.endIndex
      guard !zip(code[start..<function], code[(start + 1)..<function]).contains(where: isDisabling) else { return nil }
      if start + 3 < function, code[start + 2].matches("("), code[start + 3].kind == .string {
        return code[start + 3].text
      }
      return function + 1 < code.endIndex ? code[function + 1].text : nil
    }
  }

  private static func isDisabling(_ first: Token, _ second: Token) -> Bool {
    first.matches(".") && second.matches("disabled")
  }
}
