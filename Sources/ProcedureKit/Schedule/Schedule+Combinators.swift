extension Schedule {
  /// Returns a schedule in which each delay is the longer of the two schedules' delays. It ends as soon as one of the schedules ends.
  public func and(_ other: Schedule) -> Schedule {
    Schedule(ScheduleExpression(.and, expression, other.expression))
  }

  /// Returns a schedule in which each delay is the shorter of the two schedules' delays. When one schedule ends, the other continues alone.
  public func or(_ other: Schedule) -> Schedule {
    Schedule(ScheduleExpression(.or, expression, other.expression))
  }

  /// Returns a schedule that consists of all delays of this schedule, followed by all delays of `other`.
  public func then(_ other: Schedule) -> Schedule {
    Schedule(ScheduleExpression(.then, expression, other.expression))
  }

  /// Returns a schedule in which delays longer than `longest` are replaced by `longest`.
  public func capped(at longest: Duration) -> Schedule {
    Schedule(ScheduleExpression(.capped(at: longest), expression))
  }

  /// Returns a schedule of random delays, uniformly distributed between zero and the original delay ("full jitter").
  ///
  /// Jitter spreads out the retries of many callers that failed together.
  public func jittered() -> Schedule {
    Schedule(ScheduleExpression(.jittered, expression))
  }

  /// Returns a schedule in which each delay is randomly lengthened or shortened by at most the given fraction.
  ///
  /// For example, `0.1` turns 10 seconds into 9 to 11 seconds.
  ///
  /// - Parameter fraction: The fraction, from 0 to 1. Lower values and NaN are treated as 0, and higher values are treated as 1.
  /// - Returns: A schedule with the same number of delays.
  public func jittered(_ fraction: Double) -> Schedule {
    Schedule(ScheduleExpression(.varied(by: fraction > 0 ? min(fraction, 1) : 0), expression))
  }

  /// Returns a schedule that consists of the first `count` delays. A negative `count` results in no delays.
  public func prefix(_ count: Int) -> Schedule {
    Schedule(ScheduleExpression(.prefix(count), expression))
  }

  /// Returns a schedule that ends before the sum of its delays exceeds `total`. The sum does not include the time between the delays.
  public func upTo(_ total: Duration) -> Schedule {
    Schedule(ScheduleExpression(.upTo(total), expression))
  }
}

/// The SplitMix64 generator by Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014).
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
