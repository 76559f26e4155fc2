/// How many durations were how long: fixed buckets, so that histograms of several queues can be merged.
///
/// The bounds are 1, 2.5 and 5 times each power of ten from a microsecond to a thousand seconds; the last bucket has no bound. Memory and
/// the time to record a duration are constant.
public struct DurationHistogram: Hashable, Codable, Sendable {
  /// The upper bounds of all buckets but the last, in order.
  public static let bounds: [Duration] = (0..<10).flatMap { power -> [Duration] in
    let unit = (0..<power).reduce(1_000) { unit, _ in unit * 10 }
    return [.nanoseconds(unit), .nanoseconds(unit * 5 / 2), .nanoseconds(unit * 5)]
  }

  /// The number of durations in each bucket, at most as long as its bound; one bucket more than ``bounds``.
  public private(set) var counts: [Int]
  /// The sum of all durations, saturated.
  public private(set) var sum: Duration

  /// Creates an empty histogram.
  public init() {
    counts = Array(repeating: 0, count: Self.bounds.count + 1)
    sum = .zero
  }

  /// Decodes a histogram.
  ///
  /// - Throws: `DecodingError` if there are more or fewer counts than buckets, or a count is negative.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    counts = try container.decode([Int].self, forKey: .counts)
    sum = try container.decode(Duration.self, forKey: .sum)
    guard counts.count == Self.bounds.count + 1, counts.allSatisfy({ $0 >= 0 }) else {
      throw DecodingError.dataCorruptedError(
        forKey: .counts, in: container,
        debugDescription: "a histogram has \(Self.bounds.count + 1) counts, of which none is negative")
    }
  }

  /// The number of all durations.
  public var count: Int { counts.reduce(0, +) }

  /// Adds a duration. Negative ones count as zero.
  public mutating func record(_ duration: Duration) {
    let index = Self.bounds.partitioningIndex { duration <= $0 }
    counts[index] += 1
    sum = sum.addingSaturated(max(duration, .zero))
  }

  /// Adds all durations of another histogram.
  public mutating func merge(_ other: DurationHistogram) {
    for (index, count) in zip(counts.indices, other.counts) { counts[index] += count }
    sum = sum.addingSaturated(other.sum)
  }

  /// Returns the bound of the bucket that the given part of the durations does not exceed.
  ///
  /// - Parameter part: The part, from 0 to 1: 0.99 for the bound that all but a hundredth keep. Other values are clamped.
  /// - Returns: The bound; `nil` for an empty histogram, and if the duration is in the last bucket, which has no bound.
  public func quantile(_ part: Double) -> Duration? {
    let all = count
    guard all > 0 else { return nil }
    let rank = max(1, Int((Double(all) * min(max(part, 0), 1)).rounded(.up)))
    var passed = 0
    for (index, count) in counts.enumerated() {
      passed += count
      if passed >= rank { return index < Self.bounds.count ? Self.bounds[index] : nil }
    }
    return nil
  }
}

extension [Duration] {
  /// The index of the first element for which the predicate holds; elements after it have to, too.
  fileprivate func partitioningIndex(_ predicate: (Duration) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if predicate(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
