/// Internal. How many calls have succeeded and failed within the last stretch of time.
///
/// The stretch is counted in ten slices and what is older leaves a slice at a time, so that it costs the same however many
/// calls there are. Adding and reading are O(1).
struct SlidingWindow: Equatable {
  /// The count of a slice, or of all slices.
  struct Count: Equatable {
    var calls = 0
    var failures = 0

    static func += (sum: inout Count, other: Count) {
      sum.calls += other.calls
      sum.failures += other.failures
    }
  }

  private static let sliceCount = 10

  private let sliceLength: Duration
  private var slices = [Count](repeating: Count(), count: sliceCount)
  /// The number of the newest slice, counted from the epoch.
  private var newest: Int128 = 0

  init(length: Duration) {
    sliceLength = max((length.saturated / Self.sliceCount).roundedUpToNanoseconds, .nanoseconds(1))
  }

  mutating func callEnded(failed: Bool, at now: Duration) {
    advance(to: now)
    slices[Int(newest % Int128(Self.sliceCount))] += Count(calls: 1, failures: failed ? 1 : 0)
  }

  mutating func count(at now: Duration) -> Count {
    advance(to: now)
    return slices.reduce(into: Count()) { $0 += $1 }
  }

  /// Empties the slices that have passed. A call with a past instant is counted in the newest slice.
  private mutating func advance(to now: Duration) {
    let current = now.attoseconds / sliceLength.attoseconds
    guard current > newest else { return }
    for number in max(newest + 1, current - Int128(Self.sliceCount) + 1)...current {
      slices[Int(number % Int128(Self.sliceCount))] = Count()
    }
    newest = current
  }
}
