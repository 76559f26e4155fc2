extension Int {
  /// Returns the number with a noun: `1 strand`, `2 strands`, `2 switches`.
  func counting(_ noun: String, _ plural: String? = nil) -> String {
    self == 1 ? "1 \(noun)" : "\(self) \(plural ?? noun + "s")"
  }
}
