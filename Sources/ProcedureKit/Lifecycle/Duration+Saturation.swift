/// Arithmetic that saturates instead of trapping.
extension Duration {
  /// The range of a queue's clock: about 292 years.
  static let longest = Duration.nanoseconds(Int64.max)

  /// Returns the sum; the longest duration of its sign if that would overflow.
  package func addingSaturated(_ other: Duration) -> Duration {
    let (sum, overflows) = attoseconds.addingReportingOverflow(other.attoseconds)
    return Duration(attoseconds: overflows ? (other < .zero ? .min : .max) : sum)
  }

  /// Returns the difference; the longest duration of its sign if that would overflow.
  package func subtractingSaturated(_ other: Duration) -> Duration {
    let (difference, overflows) = attoseconds.subtractingReportingOverflow(other.attoseconds)
    return Duration(attoseconds: overflows ? (other < .zero ? .max : .min) : difference)
  }

  /// The nearest duration between zero and ``longest``.
  var saturated: Duration {
    min(max(self, .zero), .longest)
  }

  /// The duration rounded up to whole nanoseconds, the resolution of a queue's clock.
  var roundedUpToNanoseconds: Duration {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Duration(attoseconds: (rest > 0 ? whole + 1 : whole) * 1_000_000_000)
  }

  /// Returns the product with `factor`, saturated. A product that is not a number is zero.
  func scaled(by factor: Double) -> Duration {
    // In parts: the conversions between `Double` and `Int128` take a microsecond each.
    let second = 1e18
    let product = ((Double(components.seconds) * second + Double(components.attoseconds)) * factor).rounded()
    guard product > 0 else { return .zero }
    guard product < Double(Duration.longest.components.seconds) * second else { return .longest }
    let rest = product.truncatingRemainder(dividingBy: second)
    return Duration(
      secondsComponent: Int64(((product - rest) / second).rounded()), attosecondsComponent: Int64(rest))
  }

  /// Returns a random duration between two bounds. The bounds are saturated first and can come in either order.
  static func random(
    between one: Duration, and other: Duration, using generator: inout any RandomNumberGenerator
  ) -> Duration {
    let (one, other) = (one.saturated.attoseconds, other.saturated.attoseconds)
    return Duration(attoseconds: .random(in: min(one, other)...max(one, other), using: &generator))
  }
}
