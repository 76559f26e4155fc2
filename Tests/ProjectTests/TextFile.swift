import Foundation
import Synchronization

/// A file of the project, read line by line.
final class TextFile: Sendable {
  let path: String
  let text: String
  let lines: [String]
  /// The parts of a Swift file, once a test has needed them. Finding them takes long, and most tests need them for only a few files.
  private let parts = Mutex<(code: [String], literal: Set<Int>)?>(nil)

  init(_ path: String, _ text: String) {
    self.path = path
    self.text = text
    lines = text.components(separatedBy: "\n")
  }

  /// The lines of a Swift file, without comments and plain literals.
  var code: [String] { found.code }

  /// The indices of the lines that begin inside a multiline literal.
  var literal: Set<Int> { found.literal }

  private var found: (code: [String], literal: Set<Int>) {
    parts.withLock { parts in
      if let parts { return parts }
      let found = findParts()
      parts = found
      return found
    }
  }

  private func findParts() -> (code: [String], literal: Set<Int>) {
    var literal: Set<Int> = []
    var code: [String] = []
    var isInLiteral = false
    for (index, line) in lines.enumerated() {
      let isComment = !isInLiteral && line.trimmed.hasPrefix("//")
      if isInLiteral { literal.insert(index) }
      code.append(isInLiteral || isComment ? "" : line.withoutCommentsAndLiterals)
      if !isComment && line.components(separatedBy: "\"\"\"").count.isMultiple(of: 2) { isInLiteral.toggle() }
    }
    return (code, literal)
  }

  /// Returns the location of a line in the form that editors print, followed by the problem.
  func finding(_ index: Int, _ message: String) -> String { "\(path):\(index + 1): \(message)" }

  /// Returns the findings for the lines of code for which `complaint` returns a problem.
  func findings(_ complaint: (String) -> String?) -> [String] {
    code.enumerated().compactMap { index, line in complaint(line).map { finding(index, $0) } }
  }
}

extension String {
  var indentation: Int { utf8.prefix { $0 == UInt8(ascii: " ") }.count }
  var trimmed: String { trimmingCharacters(in: .whitespaces) }

  /// Returns whether the line contains `text`. This is much faster than a regular expression, which most lines do not need, and than a
  /// search with Foundation.
  func has(_ text: String) -> Bool { strstr(self, text) != nil }

  /// The line without literals that have no interpolation, and without a trailing comment.
  fileprivate var withoutCommentsAndLiterals: String {
    has("\"") || has("//") ? replacing(/"[^"\\]*"/, with: "").replacing(/\/\/.*/, with: "") : self
  }
}
