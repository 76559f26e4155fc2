/// A finite or endless sequence of delays, for retries and repetitions.
///
/// ```swift
/// .exponential(from: .milliseconds(100)).capped(at: .seconds(30)).jittered().prefix(5)
/// ```
///
/// The example produces five random delays of at most 0.1, 0.2, 0.4, 0.8 and 1.6 seconds. The first delay precedes the first retry, and
/// there are no further retries after the schedule ends. A schedule is a value. Many procedures can use one schedule, and each of them
/// starts with the first delay.
///
/// Adding a combinator takes O(1) time, and computing the next delay takes O(n) time for n combinators. A schedule can have up to 100,000
/// combinators.
///
/// Every delay is clamped to the range from zero to 292 years.
public struct Schedule: Sendable {
  /// The combinators that describe the schedule.
  package let expression: ScheduleExpression

  init(_ expression: ScheduleExpression) { self.expression = expression }

  /// Creates a schedule that computes each delay from a state.
  ///
  /// - Parameters:
  ///   - state: The state before the first delay.
  ///   - next: A function that updates the state and returns the next delay, or `nil` to end the schedule. It is not called again after it
  ///     returns `nil`. For random numbers, it must use the generator that it receives.
  public init<State: Sendable>(
    from state: State,
    next: @escaping @Sendable (_ state: inout State, _ generator: inout any RandomNumberGenerator) -> Duration?
  ) {
    self.init(ScheduleExpression(.computed(Unfolding(state: state, step: next))))
  }

  /// Creates a schedule that consists of `delay(0)`, `delay(1)`, `delay(2)` and so on, up to the first `nil`.
  public init(_ delay: @escaping @Sendable (_ index: Int) -> Duration?) {
    self.init(from: 0) { index, _ in
      defer { index += 1 }
      return delay(index)
    }
  }

  /// Creates a schedule that consists of the given delays. You can also write such a schedule as an array literal:
  /// `[.seconds(1), .seconds(5)]`.
  public init(_ delays: some Collection<Duration>) {
    let delays = Array(delays)
    self.init { $0 < delays.count ? delays[$0] : nil }
  }

  /// An endless schedule in which every delay is zero. A retry with this schedule needs a limit: `maxAttempts`, a budget, or
  /// ``prefix(_:)``.
  public static var immediate: Schedule { .constant(.zero) }

  /// Returns an endless schedule in which all delays are the same.
  public static func constant(_ delay: Duration) -> Schedule {
    Schedule { _ in delay }.knownToBeEndless(isZero: delay <= .zero)
  }

  /// Returns an endless schedule of `first`, `first + step`, `first + 2 * step` and so on. With a negative step, the delays decrease to
  /// zero.
  public static func linear(from first: Duration, by step: Duration) -> Schedule {
    let step = min(max(step, .zero - .longest), .longest)
    return Schedule(from: first.saturated) { next, _ in
      defer { next = (next + step).saturated }
      return next
    }.knownToBeEndless(isZero: first <= .zero && step <= .zero)
  }

  /// Returns an endless schedule of `first`, `first * factor`, `first * factor * factor` and so on. A negative factor or NaN is treated as
  /// 1.
  public static func exponential(from first: Duration, factor: Double = 2) -> Schedule {
    let (first, factor) = (first.saturated, factor >= 0 ? factor : 1)
    return Schedule(from: 1.0) { power, _ in
      defer { power *= factor }
      return first.scaled(by: power)
    }.knownToBeEndless(isZero: first <= .zero)
  }

  /// Returns an endless schedule whose delays are `unit` multiplied by 0, 1, 1, 2, 3, 5, 8, and so on. Each delay is the sum of the
  /// previous two.
  public static func fibonacci(_ unit: Duration) -> Schedule {
    Schedule(from: (next: Duration.zero, afterNext: unit.saturated)) { state, _ in
      defer { state = (state.afterNext, (state.next + state.afterNext).saturated) }
      return state.next
    }.knownToBeEndless(isZero: unit <= .zero)
  }

  /// Returns an endless schedule of random delays, uniformly distributed within `range`.
  public static func random(in range: ClosedRange<Duration>) -> Schedule {
    Schedule(from: ()) { _, generator in
      .random(between: range.lowerBound, and: range.upperBound, using: &generator)
    }.knownToBeEndless(isZero: range.upperBound <= .zero)
  }

  private func knownToBeEndless(isZero: Bool) -> Schedule {
    Schedule(ScheduleExpression(expression.step, facts: .init(isEndless: true, isZero: isZero)))
  }

  /// Whether the schedule is known to be an endless series of zero delays. Reading this property does not call the user's functions.
  var isEndlessWithoutDelay: Bool { expression.facts.isEndless && expression.facts.isZero }
}

extension Schedule: ExpressibleByArrayLiteral {
  /// Creates a schedule that consists of the given delays.
  public init(arrayLiteral delays: Duration...) {
    self.init(delays)
  }
}

private struct Unfolding<State: Sendable>: DelaySource {
  var state: State
  let step: @Sendable (inout State, inout any RandomNumberGenerator) -> Duration?

  mutating func next(using generator: inout any RandomNumberGenerator) -> Duration? {
    step(&state, &generator)
  }
}

extension Schedule {
  /// Returns the delays as a sequence, for tests and inspection. If the schedule is endless, so is the sequence.
  ///
  /// ```swift
  /// Array(Schedule.fibonacci(.seconds(1)).delays().prefix(5))  // 0, 1, 1, 2 and 3 seconds
  /// ```
  ///
  /// - Parameter generator: The generator for random delays. Generators in the same state produce the same delays.
  /// - Returns: A sequence that starts from the beginning each time it is iterated.
  public func delays(using generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) -> Delays {
    Delays(rest: ScheduleEvaluation(expression), generator: generator)
  }

  /// The sequence of a schedule's delays.
  public struct Delays: Sequence, IteratorProtocol {
    fileprivate var rest: ScheduleEvaluation
    fileprivate var generator: any RandomNumberGenerator

    /// Returns the next delay; `nil` when the schedule ends.
    public mutating func next() -> Duration? {
      rest.next(using: &generator)
    }
  }
}
