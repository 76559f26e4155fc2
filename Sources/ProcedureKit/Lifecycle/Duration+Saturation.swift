/// Arithmetic that ends at the limits instead of trapping, whatever it is given.
extension Duration {
  /// As far as the clock of a queue reaches: some 292 years.
  static let longest = Duration.nanoseconds(Int64.max)

  /// The nearest duration that is not negative and not longer than ``longest``.
  var saturated: Duration {
    min(max(self, .zero), .longest)
  }

  /// The nearest whole number of nanoseconds, the resolution of a queue's clock, that is not less.
  var roundedUpToNanoseconds: Duration {
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Duration(attoseconds: (rest > 0 ? whole + 1 : whole) * 1_000_000_000)
  }

  /// `factor` times a duration that is itself saturated; a product that is not a number counts as zero.
  func scaled(by factor: Double) -> Duration {
    let product = Double(attoseconds) * factor
    guard product > 0 else { return .zero }
    guard product < Double(Duration.longest.attoseconds) else { return .longest }
    return Duration(attoseconds: Int128(product.rounded()))
  }

  /// A random duration between these two, which are saturated first and may come in any order.
  static func random(
    between one: Duration, and other: Duration, using generator: inout any RandomNumberGenerator
  ) -> Duration {
    let (one, other) = (one.saturated.attoseconds, other.saturated.attoseconds)
    return Duration(attoseconds: .random(in: min(one, other)...max(one, other), using: &generator))
  }
}
