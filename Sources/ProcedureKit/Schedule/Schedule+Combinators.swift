extension Schedule {
  /// Goes on while both do, and waits the longer of the two delays.
  public func and(_ other: Schedule) -> Schedule {
    Schedule(from: (makeIterator(), other.makeIterator())) { both, generator in
      guard let one = both.0.next(using: &generator), let other = both.1.next(using: &generator) else { return nil }
      return max(one, other)
    }
  }

  /// Goes on while either does, and waits the shorter of the two delays, or the only one that is left.
  public func or(_ other: Schedule) -> Schedule {
    Schedule(from: (makeIterator(), other.makeIterator())) { both, generator in
      switch (both.0.next(using: &generator), both.1.next(using: &generator)) {
      case (let one?, let other?): min(one, other)
      case (let one, let other): one ?? other
      }
    }
  }

  /// All delays of this schedule, and then all of the other one.
  public func then(_ other: Schedule) -> Schedule {
    Schedule(from: (makeIterator(), other.makeIterator())) { both, generator in
      both.0.next(using: &generator) ?? both.1.next(using: &generator)
    }
  }

  /// The same, but no delay longer than `longest`.
  public func capped(at longest: Duration) -> Schedule {
    map { delay, _ in min(delay, longest) }
  }

  /// Waits a random time between zero and the delay, all alike probable, so that many who failed together do not come back
  /// together ("full jitter").
  public func jittered() -> Schedule {
    map { delay, generator in .random(between: .zero, and: delay, using: &generator) }
  }

  /// Waits a random time that differs from the delay by at most this fraction of it: `0.1` makes 10 seconds 9 to 11.
  ///
  /// - Parameter fraction: From 0 to 1. Less, and what is not a number, counts as 0; more as 1.
  /// - Returns: A schedule of as many delays.
  public func jittered(_ fraction: Double) -> Schedule {
    let fraction = fraction > 0 ? min(fraction, 1) : 0
    return map { delay, generator in
      let margin = delay.scaled(by: fraction)
      return .random(between: delay - margin, and: delay + margin, using: &generator)
    }
  }

  /// The first `count` delays; none if `count` is negative.
  public func prefix(_ count: Int) -> Schedule {
    Schedule(from: (rest: makeIterator(), left: count)) { state, generator in
      guard state.left > 0 else { return nil }
      state.left -= 1
      return state.rest.next(using: &generator)
    }
  }

  /// Ends before the delays would last longer than `total` together. What is done between them does not count.
  public func upTo(_ total: Duration) -> Schedule {
    Schedule(from: (rest: makeIterator(), left: total)) { state, generator in
      guard let delay = state.rest.next(using: &generator), delay <= state.left else { return nil }
      state.left -= delay
      return delay
    }
  }

  private func map(
    _ change: @escaping @Sendable (Duration, inout any RandomNumberGenerator) -> Duration
  ) -> Schedule {
    Schedule(from: makeIterator()) { rest, generator in
      rest.next(using: &generator).map { change($0, &generator) }
    }
  }
}
