extension StringProtocol {
  /// The text in one line of at most `limit` characters, the last of which is "…" if the text is longer. Line breaks and
  /// control characters become spaces. O(limit).
  func shortened(to limit: Int) -> String {
    var result = ""
    var count = 0
    for character in self {
      guard count < limit else { return String(result.dropLast()) + "…" }
      let isControl = character.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control }
      result.append(character.isNewline || isControl ? " " : character)
      count += 1
    }
    return result
  }
}
