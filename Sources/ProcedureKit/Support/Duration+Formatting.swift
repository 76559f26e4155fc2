/// Formats durations for messages, because `Duration.description` prints every digit.
extension Duration {
  /// The duration in human-readable form: `12.3 milliseconds`, `1 second`, `90 seconds`.
  ///
  /// The text has at most three significant digits and uses the largest unit in which the value is at least one. Durations of 1,000 seconds
  /// or more are given in whole seconds.
  package var inWords: String {
    var step = Self.nanosecond
    while step < Self.second, attoseconds.magnitude >= step * 1_000 { step *= 10 }
    let rounded = magnitude(roundedTo: step)
    return words(for: rounded, in: Self.units.first { rounded >= $0.size } ?? Self.units[0], places: 3)
  }

  /// The duration in seconds, rounded to microseconds, for comparing many durations at a glance: `12.000345 seconds`.
  var inSeconds: String {
    words(for: magnitude(roundedTo: Self.nanosecond * 1_000), in: Self.units[0], places: 6)
  }

  /// Returns the absolute value of the duration in attoseconds, rounded to a multiple of `step`.
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

  /// Returns `amount` in multiples of `unit`, with up to `places` decimal places and without trailing zeros.
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

/// Arithmetic that saturates instead of trapping.
extension Duration {
  /// The longest duration that a queue's clock can measure, which is about 292 years.
  static let longest = Duration.nanoseconds(Int64.max)

  /// Returns the sum. A sum that would overflow is clamped to the range of `Duration`.
  package func addingSaturated(_ other: Duration) -> Duration {
    let (sum, overflows) = attoseconds.addingReportingOverflow(other.attoseconds)
    return Duration(attoseconds: overflows ? (other < .zero ? .min : .max) : sum)
  }

  /// Returns the difference. A difference that would overflow is clamped to the range of `Duration`.
  package func subtractingSaturated(_ other: Duration) -> Duration {
    let (difference, overflows) = attoseconds.subtractingReportingOverflow(other.attoseconds)
    return Duration(attoseconds: overflows ? (other < .zero ? .max : .min) : difference)
  }

  /// The nearest duration between zero and ``longest``.
  package var saturated: Duration {
    min(max(self, .zero), .longest)
  }

  /// The duration rounded up to whole nanoseconds, the resolution of a queue's clock.
  var roundedUpToNanoseconds: Duration {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Duration(attoseconds: (rest > 0 ? whole + 1 : whole) * 1_000_000_000)
  }

  /// Returns the product of this duration and `factor`, but at most ``longest``. The result is zero if the product is negative or not a
  /// number.
  func scaled(by factor: Double) -> Duration {
    // The duration is scaled in parts, because each conversion between `Double` and `Int128` takes a microsecond.
    let second = 1e18
    let product = ((Double(components.seconds) * second + Double(components.attoseconds)) * factor).rounded()
    guard product > 0 else { return .zero }
    guard product < Double(Duration.longest.components.seconds) * second else { return .longest }
    let rest = product.truncatingRemainder(dividingBy: second)
    return Duration(
      secondsComponent: Int64(((product - rest) / second).rounded()), attosecondsComponent: Int64(rest))
  }

  /// Returns a random duration between two bounds, which can be in either order. Each bound is first clamped with ``saturated``.
  static func random(
    between one: Duration, and other: Duration, using generator: inout any RandomNumberGenerator
  ) -> Duration {
    let (one, other) = (one.saturated.attoseconds, other.saturated.attoseconds)
    return Duration(attoseconds: .random(in: min(one, other)...max(one, other), using: &generator))
  }
}
