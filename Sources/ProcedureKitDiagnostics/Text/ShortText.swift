extension StringProtocol {
  /// The text in one line of at most `limit` characters, the last of which is "…" if the text is longer. Line breaks and
  /// control characters become spaces. O(limit), also if a letter has a million accents.
  ///
  /// Left out are what could spoil the text around: a letter's accents after the fourth, which would be painted over other lines, and
  /// controls that turn the direction of all that follows.
  func shortened(to limit: Int) -> String {
    var result = ""
    var count = 0
    let end = unicodeScalars.index(startIndex, offsetBy: 8 * limit + 64, limitedBy: endIndex) ?? endIndex
    for character in Self.harmless(self[..<end]) + (end < endIndex ? "…" : "") {
      guard count < limit else { return String(result.dropLast()) + "…" }
      let isControl = character.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control }
      result.append(character.isNewline || isControl ? " " : character)
      count += 1
    }
    return result
  }

  private static func harmless(_ text: some StringProtocol) -> String {
    var accents = 0
    return String(
      String(text).unicodeScalars.filter { scalar in
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: accents += 1
        default: accents = 0
        }
        return accents <= 4 && !(0x202A...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
      })
  }
}
