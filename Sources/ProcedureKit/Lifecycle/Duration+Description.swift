/// What messages say. A duration's own description has all its digits.
extension Duration {
  /// The duration as people read it: `12.3 milliseconds`, `1 second`, `90 seconds`.
  ///
  /// Three significant digits, in the largest unit of which it is at least one; whole seconds of what is long.
  var inWords: String {
    var step = Self.nanosecond
    while step < Self.second, attoseconds.magnitude >= step * 1_000 { step *= 10 }
    let rounded = (attoseconds.magnitude + step / 2) / step * step
    guard rounded > 0, let unit = Self.units.first(where: { rounded >= $0.size }) else { return "0 seconds" }
    let number = Self.decimal(rounded, of: unit.size, places: 3)
    return "\(attoseconds < 0 ? "-" : "")\(number) \(unit.name)\(number == "1" ? "" : "s")"
  }

  /// The duration in seconds to the microsecond, so that many of them can be compared at a glance: `12.000345 seconds`.
  var inSeconds: String {
    let step = Self.nanosecond * 1_000
    let rounded = (attoseconds.magnitude + step / 2) / step * step
    let number = Self.decimal(rounded, of: Self.second, places: 6)
    return "\(attoseconds < 0 && rounded > 0 ? "-" : "")\(number) \(number == "1" ? "second" : "seconds")"
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
