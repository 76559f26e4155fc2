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
