/// How long to wait each time: a sequence of delays that ends or goes on for ever.
///
/// ```swift
/// .exponential(from: .milliseconds(100)).capped(at: .seconds(30)).jittered().prefix(5)
/// ```
///
/// waits at most 0.1, 0.2, 0.4, 0.8 and 1.6 seconds, each time a random part of it, and then gives up. The first retry waits
/// the first delay, and whoever runs out of delays stops. A schedule is a value: using one changes nothing, so that many may
/// share it, each from its beginning.
///
/// Delays saturate: none is negative, and none longer than 292 years, whatever the numbers that it is computed from.
public struct Schedule: Sendable {
  private let beginning: Iterator

  /// The most general schedule: each delay is computed from a state that goes from one delay to the next.
  ///
  /// - Parameters:
  ///   - state: What the first delay is computed from.
  ///   - next: Gives the next delay, or `nil` to end, and changes the state. It is not called again after the end.
  ///     Random numbers, if any, have to come from the generator.
  public init<State: Sendable>(
    from state: State,
    next: @escaping @Sendable (_ state: inout State, _ generator: inout any RandomNumberGenerator) -> Duration?
  ) {
    beginning = Iterator(Unfolding(state: state, step: next))
  }

  /// The delays `delay(0)`, `delay(1)`, `delay(2)` and so on, up to the first that is `nil`.
  public init(_ delay: @escaping @Sendable (_ index: Int) -> Duration?) {
    self.init(from: 0) { index, _ in
      defer { index += 1 }
      return delay(index)
    }
  }

  /// These delays and no more; an array literal is such a schedule: `[.seconds(1), .seconds(5)]`.
  public init(_ delays: some Collection<Duration>) {
    let delays = Array(delays)
    self.init { $0 < delays.count ? delays[$0] : nil }
  }

  /// No delay, for ever.
  public static var immediate: Schedule { .constant(.zero) }

  /// The same delay for ever.
  public static func constant(_ delay: Duration) -> Schedule {
    Schedule { _ in delay }
  }

  /// `first`, `first + step`, `first + 2 * step` and so on. A negative step leads down to zero.
  public static func linear(from first: Duration, by step: Duration) -> Schedule {
    let step = min(max(step, .zero - .longest), .longest)
    return Schedule(from: first.saturated) { next, _ in
      defer { next = (next + step).saturated }
      return next
    }
  }

  /// `first`, `first * factor`, `first * factor * factor` and so on. A factor that is negative or not a number counts as 1.
  public static func exponential(from first: Duration, factor: Double = 2) -> Schedule {
    let (first, factor) = (first.saturated, factor >= 0 ? factor : 1)
    return Schedule(from: 1.0) { power, _ in
      defer { power *= factor }
      return first.scaled(by: power)
    }
  }

  /// 0, 1, 1, 2, 3, 5, 8 and so on times `unit`, each the sum of the two before it.
  public static func fibonacci(_ unit: Duration) -> Schedule {
    Schedule(from: (next: Duration.zero, afterNext: unit.saturated)) { state, _ in
      defer { state = (state.afterNext, (state.next + state.afterNext).saturated) }
      return state.next
    }
  }

  /// A random delay within the range each time, all alike probable.
  public static func random(in range: ClosedRange<Duration>) -> Schedule {
    Schedule(from: ()) { _, generator in
      .random(between: range.lowerBound, and: range.upperBound, using: &generator)
    }
  }
}

extension Schedule: ExpressibleByArrayLiteral {
  /// These delays and no more.
  public init(arrayLiteral delays: Duration...) {
    self.init(delays)
  }
}

extension Schedule {
  /// Internal. One use of a schedule: what is left of it. A copy goes on by itself.
  struct Iterator: Sendable {
    /// `nil` once the end has been reached.
    private var rest: (any Unfoldable)?

    fileprivate init(_ rest: any Unfoldable) {
      self.rest = rest
    }

    /// The next delay, saturated; `nil` at the end and ever after.
    mutating func next(using generator: inout any RandomNumberGenerator) -> Duration? {
      let delay = rest?.next(using: &generator)
      if delay == nil { rest = nil }
      return delay?.saturated
    }
  }

  /// Internal. Begins a use of this schedule.
  func makeIterator() -> Iterator { beginning }
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
