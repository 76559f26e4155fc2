extension Int {
  /// Returns the number with a noun: `1 strand`, `2 strands`.
  func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
