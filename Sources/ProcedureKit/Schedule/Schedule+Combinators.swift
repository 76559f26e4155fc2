extension Schedule {
  /// Returns a schedule of the longer of each pair of delays, which ends with the shorter schedule.
  public func and(_ other: Schedule) -> Schedule {
    Schedule(from: (self, other)) { both, generator in
      guard let one = both.0.next(using: &generator), let other = both.1.next(using: &generator) else { return nil }
      return max(one, other)
    }
  }

  /// Returns a schedule of the shorter of each pair of delays, which goes on with the longer schedule alone.
  public func or(_ other: Schedule) -> Schedule {
    Schedule(from: (self, other)) { both, generator in
      switch (both.0.next(using: &generator), both.1.next(using: &generator)) {
      case (let one?, let other?): min(one, other)
      case (let one, let other): one ?? other
      }
    }
  }

  /// Returns a schedule of all delays of this schedule, followed by all delays of `other`.
  public func then(_ other: Schedule) -> Schedule {
    Schedule(from: (self, other)) { both, generator in
      both.0.next(using: &generator) ?? both.1.next(using: &generator)
    }
  }

  /// Returns a schedule in which delays longer than `longest` are replaced by `longest`.
  public func capped(at longest: Duration) -> Schedule {
    map { delay, _ in min(delay, longest) }
  }

  /// Returns a schedule of random delays, uniform between zero and each delay ("full jitter").
  ///
  /// Jitter spreads the retries of many callers that failed together.
  public func jittered() -> Schedule {
    map { delay, generator in .random(between: .zero, and: delay, using: &generator) }
  }

  /// Returns a schedule of random delays that differ from each delay by at most `fraction` of the delay: `0.1` turns 10
  /// seconds into 9 to 11.
  ///
  /// - Parameter fraction: From 0 to 1. Lower values and NaN count as 0, higher values as 1.
  /// - Returns: A schedule with as many delays.
  public func jittered(_ fraction: Double) -> Schedule {
    let fraction = fraction > 0 ? min(fraction, 1) : 0
    return map { delay, generator in
      let margin = delay.scaled(by: fraction)
      return .random(between: delay - margin, and: delay + margin, using: &generator)
    }
  }

  /// Returns a schedule of the first `count` delays; a negative `count` gives none.
  public func prefix(_ count: Int) -> Schedule {
    Schedule(from: (rest: self, left: count)) { state, generator in
      guard state.left > 0 else { return nil }
      state.left -= 1
      return state.rest.next(using: &generator)
    }
  }

  /// Returns a schedule that ends before the sum of its delays exceeds `total`. The time of the work between the delays
  /// does not count.
  public func upTo(_ total: Duration) -> Schedule {
    Schedule(from: (rest: self, left: total)) { state, generator in
      guard let delay = state.rest.next(using: &generator), delay <= state.left else { return nil }
      state.left -= delay
      return delay
    }
  }

  private func map(
    _ change: @escaping @Sendable (Duration, inout any RandomNumberGenerator) -> Duration
  ) -> Schedule {
    Schedule(from: self) { rest, generator in
      rest.next(using: &generator).map { change($0, &generator) }
    }
  }
}
