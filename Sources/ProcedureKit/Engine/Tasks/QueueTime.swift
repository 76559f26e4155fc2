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

  /// A moment that may be read under a lock: at once from a clock of the user's, which is not called there, and only if it
  /// is asked for from the system's.
  func moment() -> Moment {
    if case .other(let elapsed) = source {
      Moment(time: self, reading: ProcedureInstant(sinceStart: elapsed()))
    } else {
      Moment(time: self, reading: nil)
    }
  }

  /// See ``moment()``.
  struct Moment {
    fileprivate let time: QueueTime
    fileprivate let reading: ProcedureInstant?

    var instant: ProcedureInstant { reading ?? time.now }
  }

  var now: ProcedureInstant {
    switch source {
    case .continuous(let start): ProcedureInstant(sinceStart: start.duration(to: ContinuousClock.now))
    case .other(let elapsed): ProcedureInstant(sinceStart: elapsed())
    }
  }
}
