/// A body's wait, and the signal that ends the wait if it is part of a deadlock.
struct BodyWait: Sendable {
  let wait: RunWait
  let signal: OneShotSignal?
}

/// The reason a body is waiting.
enum RunWait: Sendable {
  case run(Run)
  case idle(QueueCore)
  /// Room on a queue for a run with the given key.
  case room(QueueCore, InternedKey?)
  /// The result of a shared execution, which takes place in another run.
  case execution(SharedWorkTable, SharedWorkTable.Key, SharedWorkTable.Follower)
  /// An event of a run.
  case eventsOfRun(Run)
  /// An event from another source, such as a queue, a circuit breaker, or a stream.
  case events(of: String)
  /// A permit from a rate limiter.
  case rateLimit
  /// The end of a delay.
  case pause(until: ProcedureInstant)

  /// Whether the wait can end with an error.
  var canThrow: Bool {
    switch self {
    case .run, .room, .execution: true
    case .idle, .eventsOfRun, .events, .rateLimit, .pause: false
    }
  }

  /// Whether the wait is reported as a pause.
  var isPause: Bool {
    switch self {
    case .rateLimit, .pause: true
    case .run, .idle, .room, .execution, .eventsOfRun, .events: false
    }
  }

  /// The queue that the body is waiting for, either to become idle or to have room.
  var queue: QueueCore? {
    switch self {
    case .idle(let queue), .room(let queue, _): queue
    case .run, .execution, .eventsOfRun, .events, .rateLimit, .pause: nil
    }
  }
}
