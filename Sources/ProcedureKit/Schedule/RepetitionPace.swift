/// Internal. When something is executed again that is repeated.
enum RepetitionPace: Sendable {
  /// After the next delay, counted from the end of an execution.
  case after(Schedule)
  /// At the next of the beats, which lie so far from each other, counted from the first start.
  case every(Duration)

  /// One use of it.
  struct Iterator {
    private enum State {
      case delays(Schedule.Iterator, any RandomNumberGenerator)
      case beats(period: Duration, start: ProcedureInstant, latest: Int128)
    }

    private var state: State

    /// - Parameters:
    ///   - pace: What is used.
    ///   - start: When the first execution starts.
    ///   - numbers: Where random delays come from.
    init(_ pace: RepetitionPace, from start: ProcedureInstant, _ numbers: RandomNumbers) {
      switch pace {
      case .after(let schedule): state = .delays(schedule.makeIterator(), numbers.makeGenerator())
      case .every(let period): state = .beats(period: period.saturated, start: start, latest: 0)
      }
    }

    /// How long to wait for the next execution, now that one has ended; `nil` if there is none.
    ///
    /// A beat that has passed is skipped, whether or not anything was executed at it.
    mutating func delay(at now: ProcedureInstant) -> Duration? {
      switch state {
      case .delays(var delays, var generator):
        let delay = delays.next(using: &generator)
        state = .delays(delays, generator)
        return delay
      case .beats(let period, let start, let latest):
        guard period > .zero else { return .zero }
        let elapsed = start.duration(to: now).attoseconds
        let (whole, rest) = elapsed.quotientAndRemainder(dividingBy: period.attoseconds)
        let next = max(latest + 1, rest > 0 ? whole + 1 : whole)
        state = .beats(period: period, start: start, latest: next)
        return Duration(attoseconds: next * period.attoseconds - elapsed)
      }
    }
  }
}
