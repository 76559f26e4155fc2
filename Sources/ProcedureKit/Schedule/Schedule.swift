/// A finite or endless sequence of delays, for retries and repetitions.
///
/// ```swift
/// .exponential(from: .milliseconds(100)).capped(at: .seconds(30)).jittered().prefix(5)
/// ```
///
/// The example gives five random delays of at most 0.1, 0.2, 0.4, 0.8 and 1.6 seconds. The first retry waits the first
/// delay; a retry without a delay is not made. A schedule is a value: many procedures can share a schedule, and each
/// use starts with the first delay.
///
/// Delays saturate: every delay lies between zero and 292 years.
public struct Schedule: Sendable {
  /// The delays that are left; `nil` after the end.
  private var rest: (any Unfoldable)?

  /// Makes a schedule that computes each delay from a state.
  ///
  /// - Parameters:
  ///   - state: The state before the first delay.
  ///   - next: Returns the next delay, or `nil` to end the schedule, and updates the state. `next` is not called after
  ///     returning `nil`. Random numbers have to come from the generator.
  public init<State: Sendable>(
    from state: State,
    next: @escaping @Sendable (_ state: inout State, _ generator: inout any RandomNumberGenerator) -> Duration?
  ) {
    rest = Unfolding(state: state, step: next)
  }

  /// Internal. Takes the next delay, saturated; `nil` from the end on. A copy of a schedule advances separately.
  mutating func next(using generator: inout any RandomNumberGenerator) -> Duration? {
    let delay = rest?.next(using: &generator)
    if delay == nil { rest = nil }
    return delay?.saturated
  }

  /// Makes a schedule of `delay(0)`, `delay(1)`, `delay(2)` and so on, up to the first `nil`.
  public init(_ delay: @escaping @Sendable (_ index: Int) -> Duration?) {
    self.init(from: 0) { index, _ in
      defer { index += 1 }
      return delay(index)
    }
  }

  /// Makes a schedule of the given delays. An array literal is a schedule, too: `[.seconds(1), .seconds(5)]`.
  public init(_ delays: some Collection<Duration>) {
    let delays = Array(delays)
    self.init { $0 < delays.count ? delays[$0] : nil }
  }

  /// An endless schedule without delays.
  public static var immediate: Schedule { .constant(.zero) }

  /// Returns an endless schedule with one constant delay.
  public static func constant(_ delay: Duration) -> Schedule {
    Schedule { _ in delay }
  }

  /// Returns an endless schedule of `first`, `first + step`, `first + 2 * step` and so on. A negative step leads down
  /// to zero.
  public static func linear(from first: Duration, by step: Duration) -> Schedule {
    let step = min(max(step, .zero - .longest), .longest)
    return Schedule(from: first.saturated) { next, _ in
      defer { next = (next + step).saturated }
      return next
    }
  }

  /// Returns an endless schedule of `first`, `first * factor`, `first * factor * factor` and so on. A negative factor
  /// or NaN counts as 1.
  public static func exponential(from first: Duration, factor: Double = 2) -> Schedule {
    let (first, factor) = (first.saturated, factor >= 0 ? factor : 1)
    return Schedule(from: 1.0) { power, _ in
      defer { power *= factor }
      return first.scaled(by: power)
    }
  }

  /// Returns an endless schedule of 0, 1, 1, 2, 3, 5, 8 and so on times `unit`: each delay is the sum of the two
  /// before.
  public static func fibonacci(_ unit: Duration) -> Schedule {
    Schedule(from: (next: Duration.zero, afterNext: unit.saturated)) { state, _ in
      defer { state = (state.afterNext, (state.next + state.afterNext).saturated) }
      return state.next
    }
  }

  /// Returns an endless schedule of random delays, uniform within `range`.
  public static func random(in range: ClosedRange<Duration>) -> Schedule {
    Schedule(from: ()) { _, generator in
      .random(between: range.lowerBound, and: range.upperBound, using: &generator)
    }
  }
}

extension Schedule: ExpressibleByArrayLiteral {
  /// Makes a schedule of the given delays.
  public init(arrayLiteral delays: Duration...) {
    self.init(delays)
  }
}

private protocol Unfoldable: Sendable {
  mutating func next(using generator: inout any RandomNumberGenerator) -> Duration?
}

private struct Unfolding<State: Sendable>: Unfoldable {
  var state: State
  let step: @Sendable (inout State, inout any RandomNumberGenerator) -> Duration?

  mutating func next(using generator: inout any RandomNumberGenerator) -> Duration? {
    step(&state, &generator)
  }
}
