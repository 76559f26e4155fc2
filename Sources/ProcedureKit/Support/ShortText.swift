/// Makes external names and messages safe to show in terminals, logs, diagrams and error messages.
///
/// Only this file decides which characters are shown.
///
/// A name can come from a file, a server or a command line. A control character in a name could erase a line of a terminal or imitate
/// another line. A character that changes the direction of text affects all text after it.
extension StringProtocol {
  /// The text on one line, without control characters.
  ///
  /// Control characters and line breaks become spaces. Invisible formatting characters, such as those that change the direction of text,
  /// are removed, except the joiners that emoji and some scripts need. Only the first four accents of a letter are kept, because further
  /// accents would be drawn over other lines.
  ///
  /// - Complexity: O(n) for n scalars.
  package var inOneLine: String {
    // Most names are plain ASCII and need no access to the Unicode tables.
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return String(self) }
    return unicodeScalars.harmless()
  }

  /// The text without control characters, but with its line breaks; see ``inOneLine``.
  ///
  /// - Complexity: O(n) for n scalars.
  package var inLines: String {
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) || $0 == UInt8(ascii: "\n") }) { return String(self) }
    return split(omittingEmptySubsequences: false) { $0.isNewline }.map(\.inOneLine).joined(separator: "\n")
  }

  /// Returns the text on one line, like ``inOneLine``, truncated to `limit` characters. Truncated text ends with "…".
  ///
  /// - Complexity: O(limit), even if a letter has a million accents.
  package func shortened(to limit: Int) -> String {
    var result = ""
    var count = 0
    let end = unicodeScalars.index(startIndex, offsetBy: 8 * limit + 64, limitedBy: endIndex) ?? endIndex
    for character in self[..<end].inOneLine + (end < endIndex ? "…" : "") {
      guard count < limit else { return String(result.dropLast()) + "…" }
      result.append(character)
      count += 1
    }
    return result
  }

  /// Returns the text with some scalars replaced.
  ///
  /// The function works on scalars instead of characters. Swift combines a quotation mark and a following accent or joiner into a different
  /// character, whereas other languages treat the quotation mark as a separate character.
  ///
  /// - Parameter replacement: A function that returns the replacement for a scalar, or `nil` to keep the scalar.
  /// - Returns: The text with the replacements.
  /// - Complexity: O(n) for n scalars.
  package func replacingScalars(_ replacement: (Unicode.Scalar) -> String?) -> String {
    unicodeScalars.reduce(into: "") { text, scalar in
      if let other = replacement(scalar) { text += other } else { text.unicodeScalars.append(scalar) }
    }
  }

  /// The text in a form that can be quoted in a message: at most 200 characters, on one line, without control characters.
  package var quotable: String { shortened(to: 200) }

  /// The text in quotation marks, for a message: at most 200 characters, on one line, without control characters.
  package var quoted: String { "\"\(quotable)\"" }
}

extension BinaryInteger {
  /// Returns the number with a noun: `1 task`, `2 tasks`, `2 switches`.
  package func counting(_ noun: String, _ plural: String? = nil) -> String {
    self == 1 ? "1 \(noun)" : "\(self) \(plural ?? noun + "s")"
  }
}

extension [String] {
  /// The elements as a list in a sentence: `a`, `a and b`, `a, b and c`.
  package var sentenceList: String {
    guard let last, count > 1 else { return first ?? "" }
    return "\(dropLast().joined(separator: ", ")) and \(last)"
  }
}

extension Sequence where Element == Unicode.Scalar {
  /// Returns the scalars as text on one line; see ``Swift/StringProtocol/inOneLine``.
  ///
  /// - Parameter control: The replacement for control characters other than line breaks and tabs, which become spaces.
  /// - Returns: The line.
  package func harmless(control: Unicode.Scalar = " ") -> String {
    var (text, accents) = (String.UnicodeScalarView(), 0)
    for scalar in self {
      guard let shown = scalar.harmless(control: control) else { continue }
      accents = scalar.isAccent ? accents + 1 : 0
      if accents <= 4 { text.append(shown) }
    }
    return String(text)
  }
}

extension Unicode.Scalar {
  /// Returns the scalar itself if it is harmless, or its replacement; `nil` if the scalar should be omitted.
  package func harmless(control: Unicode.Scalar = " ") -> Unicode.Scalar? {
    if (" "..."~").contains(self) { return self }
    switch properties.generalCategory {
    case .control: return ["\n", "\r", "\t"].contains(self) ? " " : control
    case .lineSeparator, .paragraphSeparator: return " "
    // U+200D joins the parts of an emoji, and U+200C separates letters in some scripts.
    case .format: return ["\u{200C}", "\u{200D}"].contains(self) ? self : nil
    default: return self
    }
  }

  /// Whether the scalar is drawn over the previous one.
  package var isAccent: Bool { [.nonspacingMark, .enclosingMark].contains(properties.generalCategory) }
}
