import ProcedureKit

/// A namespace for functions that prepare text for one line on a terminal. They remove control characters and measure the width in columns.
enum TerminalText {
  /// Returns the text as a line of limited width, using only characters that can be displayed.
  ///
  /// Line breaks, tabs and control characters are replaced with spaces, so escape sequences have no effect. Characters that change the
  /// direction of the text are removed.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - limit: The maximum number of columns. Longer text is shortened and ends in "…".
  /// - Returns: The line, and the largest width that it can have on any terminal.
  /// - Complexity: O(n) for n columns, regardless of the length of the text.
  static func line(_ text: some StringProtocol, columns limit: Int) -> (text: String, columns: Int) {
    var line = String.UnicodeScalarView()
    var (columns, columnsOfShort, endOfShort) = (0, 0, line.endIndex)
    var budget = 8 * max(limit, 0) + 64
    for scalar in text.unicodeScalars {
      budget -= 1
      let (shown, width) = shape(of: scalar)
      guard columns + width <= limit, budget > 0 else {
        guard limit > 0 else { return ("", 0) }
        line.removeSubrange(endOfShort...)
        line.append("…")
        return (String(line), columnsOfShort + 1)
      }
      if let shown { line.append(shown) }
      columns += width
      // If the line has to be shortened, there must be room for the "…" after it.
      if columns < limit { (columnsOfShort, endOfShort) = (columns, line.endIndex) }
    }
    return (String(line), columns)
  }

  /// Returns the text in lines of limited width, broken between words. A line exceeds the limit only if a single word does.
  static func wrapped(_ text: String, columns limit: Int) -> [String] {
    var (lines, columns) = ([String](), 0)
    for word in text.split(separator: " ") {
      let (word, width) = line(word, columns: text.count * 2)
      if columns > 0, columns + 1 + width <= limit {
        lines[lines.count - 1] += " " + word
        columns += 1 + width
      } else {
        lines.append(word)
        columns = width
      }
    }
    return lines
  }

  /// Returns the scalar to show, if there is one, and the number of columns that it occupies.
  private static func shape(of scalar: Unicode.Scalar) -> (shown: Unicode.Scalar?, columns: Int) {
    if (" "..."~").contains(scalar) { return (scalar, 1) }
    // This scalar turns the previous character into an emoji, which is one column wider.
    if scalar == "\u{FE0F}" { return (scalar, 1) }
    guard let shown = scalar.harmless() else { return (nil, 0) }
    if shown == " " { return (" ", 1) }
    if scalar.isAccent || scalar.properties.generalCategory == .format { return (shown, 0) }
    return (shown, isWide(shown) ? 2 : 1)
  }

  /// Returns whether the scalar occupies two columns, at least on some terminals.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.properties.isEmojiPresentation { return true }
    return switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18CFF, 0x1AFF0...0x1B2FF, 0x1F000...0x1FAFF, 0x20000...0x3FFFD:
      true
    default: false
    }
  }
}
