extension Int {
  /// The number with what it counts: `1 strand`, `2 strands`.
  func counting(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
