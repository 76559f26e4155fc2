/// What messages say. A duration's own description has all its digits.
extension Duration {
  /// The duration as people read it: `12.3 milliseconds`, `1 second`, `90 seconds`.
  ///
  /// Three significant digits, in the largest unit of which it is at least one; whole seconds of what is long.
  var inWords: String {
    var step = Self.nanosecond
    while step < Self.second, attoseconds.magnitude >= step * 1_000 { step *= 10 }
    let rounded = magnitude(roundedTo: step)
    return words(for: rounded, in: Self.units.first { rounded >= $0.size } ?? Self.units[0], places: 3)
  }

  /// The duration in seconds to the microsecond, so that many of them can be compared at a glance: `12.000345 seconds`.
  var inSeconds: String {
    words(for: magnitude(roundedTo: Self.nanosecond * 1_000), in: Self.units[0], places: 6)
  }

  /// The attoseconds without their sign, as a multiple of a step.
  private func magnitude(roundedTo step: UInt128) -> UInt128 {
    (attoseconds.magnitude + step / 2) / step * step
  }

  private func words(for rounded: UInt128, in unit: (size: UInt128, name: String), places: Int) -> String {
    let number = Self.decimal(rounded, of: unit.size, places: places)
    return "\(attoseconds < 0 && rounded > 0 ? "-" : "")\(number) \(unit.name)\(number == "1" ? "" : "s")"
  }

  private static let second: UInt128 = 1_000_000_000_000_000_000
  private static let nanosecond: UInt128 = 1_000_000_000

  private static let units: [(size: UInt128, name: String)] = [
    (second, "second"), (second / 1_000, "millisecond"), (second / 1_000_000, "microsecond"),
    (nanosecond, "nanosecond"),
  ]

  /// A number of units with so many decimal places, without zeros at its end.
  private static func decimal(_ amount: UInt128, of unit: UInt128, places: Int) -> String {
    let (whole, rest) = amount.quotientAndRemainder(dividingBy: unit)
    var digits = ""
    var left = rest
    for _ in 0..<places where left > 0 {
      digits += "\(left * 10 / unit)"
      left = left * 10 % unit
    }
    return digits.isEmpty ? "\(whole)" : "\(whole).\(digits)"
  }
}
