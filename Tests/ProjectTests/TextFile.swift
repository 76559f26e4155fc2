import Foundation

/// A file of the project, read line by line.
struct TextFile: Sendable {
  let path: String
  let text: String
  let lines: [String]
  /// The lines of a Swift file without comments and plain literals.
  let code: [String]
  /// The indices of the lines that begin inside a literal of several lines.
  let literal: Set<Int>

  init(_ path: String, _ text: String) {
    self.path = path
    self.text = text
    lines = text.components(separatedBy: "\n")
    var literal: Set<Int> = []
    var code: [String] = []
    var isInLiteral = false
    for (index, line) in lines.enumerated() {
      let isComment = !isInLiteral && line.trimmed.hasPrefix("//")
      if isInLiteral { literal.insert(index) }
      code.append(isInLiteral || isComment ? "" : line.withoutCommentsAndLiterals)
      if !isComment && line.components(separatedBy: "\"\"\"").count.isMultiple(of: 2) { isInLiteral.toggle() }
    }
    self.code = code
    self.literal = literal
  }

  /// A line, as editors print it, and what is wrong there.
  func finding(_ index: Int, _ message: String) -> String { "\(path):\(index + 1): \(message)" }

  /// The findings on lines of the code, where `complaint` has one.
  func findings(_ complaint: (String) -> String?) -> [String] {
    code.enumerated().compactMap { index, line in complaint(line).map { finding(index, $0) } }
  }
}

extension String {
  var indentation: Int { utf8.prefix { $0 == UInt8(ascii: " ") }.count }
  var trimmed: String { trimmingCharacters(in: .whitespaces) }

  /// Much faster than a regular expression, which most lines need not be asked.
  func has(_ text: String) -> Bool { range(of: text, options: .literal) != nil }

  /// Without the literals that interpolate nothing, and without a comment at the end.
  fileprivate var withoutCommentsAndLiterals: String {
    has("\"") || has("//") ? replacing(/"[^"\\]*"/, with: "").replacing(/\/\/.*/, with: "") : self
  }
}
