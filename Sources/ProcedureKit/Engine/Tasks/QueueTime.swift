/// Internal. A queue's time: the only place in the library that reads a clock.
struct QueueTime: Sendable {
  private enum Source {
    case continuous(since: ContinuousClock.Instant)
    case other(@Sendable () -> Duration)
  }

  private let source: Source

  init(_ clock: any Clock<Duration>) {
    if clock is ContinuousClock {
      source = .continuous(since: ContinuousClock.now)
    } else {
      source = .other(Self.stopwatch(clock))
    }
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }

  var now: ProcedureInstant {
    switch source {
    case .continuous(let start): ProcedureInstant(sinceStart: start.duration(to: ContinuousClock.now))
    case .other(let elapsed): ProcedureInstant(sinceStart: elapsed())
    }
  }
}
