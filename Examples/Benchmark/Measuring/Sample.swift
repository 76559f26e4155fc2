/// Repeated measurements, in order.
struct Sample: Equatable, Sendable {
  let values: [Double]

  /// Creates a sample.
  ///
  /// - Parameter values: The values. There must be at least one.
  init(_ values: [Double]) {
    precondition(!values.isEmpty, "a sample must have at least one value")
    self.values = values
  }

  var median: Double { quantile(0.5) }

  /// Half the distance between the quartiles, relative to the median.
  var spread: Double {
    median == 0 ? 0 : (quantile(0.75) - quantile(0.25)) / 2 / abs(median)
  }

  /// Returns the value at a quantile from 0 to 1, interpolated between neighbouring values.
  func quantile(_ part: Double) -> Double {
    let sorted = values.sorted()
    let position = part * Double(sorted.count - 1)
    let (lower, upper) = (sorted[Int(position)], sorted[Int(position.rounded(.up))])
    return lower + (upper - lower) * (position - position.rounded(.down))
  }

  /// Returns the differences of values that were measured in the same round.
  func differences(to other: Sample) -> Sample {
    Sample(zip(values, other.values).map { $0 - $1 })
  }

  /// Returns the ratios of values that were measured in the same round, so that drift affects both values of each ratio.
  func ratios(to other: Sample) -> Sample {
    Sample(zip(values, other.values).map { $0 / $1 })
  }
}
