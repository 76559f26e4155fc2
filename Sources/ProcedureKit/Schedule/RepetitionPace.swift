/// Internal. The times of a repeating procedure's executions.
enum RepetitionPace: Sendable {
  /// After the schedule's next delay, counted from the end of an execution.
  case after(Schedule)
  /// At the next multiple of a period, counted from the start of the first execution.
  case every(Duration)

  /// One use of a pace.
  enum Iterator {
    case delays(Schedule.Delays)
    case beats(period: Duration, start: ProcedureInstant, latest: Int128)

    /// Begins a use of a pace, from the start of the first execution. The generator gives the random delays.
    init(_ pace: RepetitionPace, from start: ProcedureInstant, _ generator: any RandomNumberGenerator) {
      switch pace {
      case .after(let schedule): self = .delays(schedule.delays(using: generator))
      case .every(let period): self = .beats(period: period.saturated, start: start, latest: 0)
      }
    }

    /// Returns the delay from the end of an execution, `now`, to the next start; `nil` at the end of the schedule.
    ///
    /// A multiple of the period that has passed is skipped.
    mutating func delay(at now: ProcedureInstant) -> Duration? {
      switch self {
      case .delays(var delays):
        defer { self = .delays(delays) }
        return delays.next()
      case .beats(let period, let start, let latest):
        guard period > .zero else { return .zero }
        let elapsed = start.duration(to: now).attoseconds
        let (whole, rest) = elapsed.quotientAndRemainder(dividingBy: period.attoseconds)
        let next = max(latest + 1, rest > 0 ? whole + 1 : whole)
        self = .beats(period: period, start: start, latest: next)
        return Duration(attoseconds: next * period.attoseconds - elapsed)
      }
    }
  }
}
