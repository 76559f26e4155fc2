/// Internal. A queue's time: the only place in the library that reads a clock, or sleeps on one.
struct QueueTime: Sendable {
  private enum Source {
    case continuous(since: ContinuousClock.Instant)
    case other(any Stopwatch)
  }

  private let source: Source

  init(_ clock: any Clock<Duration>) {
    if clock is ContinuousClock {
      source = .continuous(since: ContinuousClock.now)
    } else {
      source = .other(Self.stopwatch(clock))
    }
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> any Stopwatch where C.Duration == Duration {
    RunningStopwatch(clock: clock, start: clock.now)
  }

  /// A moment that may be read under a lock: at once from a clock of the user's, which is not called there, and only if it
  /// is asked for from the system's.
  func moment() -> Moment {
    if case .other(let stopwatch) = source {
      Moment(time: self, reading: ProcedureInstant(sinceStart: stopwatch.elapsed))
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

  /// Whether it is the system's clock, which goes on whatever is executed; one of the user's may stand still.
  var goesOnByItself: Bool {
    if case .continuous = source { true } else { false }
  }

  var now: ProcedureInstant {
    switch source {
    case .continuous(let start): ProcedureInstant(sinceStart: start.duration(to: ContinuousClock.now))
    case .other(let stopwatch): ProcedureInstant(sinceStart: stopwatch.elapsed)
    }
  }

  /// Whether this is the system's clock, on which nobody can tell who sleeps.
  var isSystem: Bool {
    if case .continuous = source { true } else { false }
  }

  /// Sleeps, in the current task. Cancelling it ends the sleep.
  ///
  /// - Throws: `CancellationError`; whatever else a clock of the user's throws.
  func wait(until instant: ProcedureInstant) async throws {
    switch source {
    case .continuous(let start): try await ContinuousClock().sleep(until: start.advanced(by: instant.sinceStart))
    case .other(let stopwatch): try await stopwatch.wait(until: instant.sinceStart)
    }
  }
}

/// A clock of the user's and the instant from which it is read.
private protocol Stopwatch: Sendable {
  var elapsed: Duration { get }
  func wait(until elapsed: Duration) async throws
}

private struct RunningStopwatch<C: Clock>: Stopwatch where C.Duration == Duration {
  let clock: C
  let start: C.Instant

  var elapsed: Duration { start.duration(to: clock.now) }

  func wait(until elapsed: Duration) async throws {
    try await clock.sleep(until: start.advanced(by: elapsed), tolerance: nil)
  }
}

/// Internal. An instant of any clock, by which something has to be over.
struct Deadline: Sendable {
  private let timeLeft: @Sendable () -> Duration

  init<C: Clock>(_ instant: C.Instant, on clock: C) where C.Duration == Duration {
    timeLeft = { clock.now.duration(to: instant) }
  }

  private init(timeLeft: @escaping @Sendable () -> Duration) {
    self.timeLeft = timeLeft
  }

  /// How long there is from now on; negative if it has passed.
  var remaining: Duration { timeLeft() }

  /// The earlier of both.
  func earlier(_ other: Deadline) -> Deadline {
    Deadline { min(remaining, other.remaining) }
  }
}
