/// Repeated measurements, in order.
struct Sample: Equatable, Sendable {
  let values: [Double]

  /// Creates a sample.
  ///
  /// - Parameter values: The measurements. There must be at least one.
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

  /// Returns, for each round, the value in this sample minus the value in the other.
  func differences(to other: Sample) -> Sample {
    Sample(zip(values, other.values).map { $0 - $1 })
  }

  /// Returns, for each round, the ratio of the value in this sample to the value in the other. Drift affects both values, so it hardly
  /// changes their ratio.
  func ratios(to other: Sample) -> Sample {
    Sample(zip(values, other.values).map { $0 / $1 })
  }
}
