/// The clock of a queue, a circuit breaker, a rate limiter or a retry budget.
///
/// In this module, only this type and the `deadline` modifier read a clock, and only this type sleeps on one. `ProcedureKitPacing` and
/// `ProcedureKitRemote` use this type, too.
package struct QueueClock: Sendable {
  private let stopwatch: any Stopwatch
  /// Whether this is the system's continuous clock, which always advances. Any other clock is treated as a custom clock, which may stand
  /// still, and may observe which tasks are sleeping on it.
  let isSystem: Bool
  /// Whether this is the system's continuous or suspending clock. On these clocks, time passes by itself, whereas a test may have to
  /// advance a custom clock.
  let isReal: Bool

  package init(_ clock: any Clock<Duration>) {
    isSystem = clock is ContinuousClock
    isReal = isSystem || clock is SuspendingClock
    stopwatch = isSystem ? SystemStopwatch() : Self.stopwatch(clock)
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> any Stopwatch where C.Duration == Duration {
    RunningStopwatch(clock: clock, start: clock.now)
  }

  /// Reads the clock immediately. This function must not be called while a lock is held.
  func reading() -> Reading { Reading(instant: now) }

  /// Reads the system's clock only when the instant is needed. Reads a custom clock immediately, because it must not be called under a
  /// lock.
  func lazyReading() -> Reading { Reading(instant: isSystem ? nil : now) }

  /// An instant that has been read, or that will be read when it is needed. A reading does not contain the clock, so no thread counts
  /// references to the clock.
  struct Reading {
    fileprivate let instant: ProcedureInstant?
  }

  /// Returns the instant of a reading of this clock.
  func instant(of reading: Reading) -> ProcedureInstant { reading.instant ?? now }

  package var now: ProcedureInstant { ProcedureInstant(sinceStart: stopwatch.elapsed) }

  /// Returns the time from now until an instant, given as the time since the creation of the clock; zero if the instant has passed.
  func remaining(until instant: Duration) -> Duration { (instant - now.sinceStart).saturated }

  /// Sleeps in the current task until an instant. Cancelling the task ends the sleep.
  ///
  /// - Throws: `CancellationError`, or any other error that a custom clock throws.
  func wait(until instant: ProcedureInstant) async throws {
    try await stopwatch.wait(until: instant.sinceStart)
  }
}

/// The system's clock. Its type is known at compile time, so reading the clock requires no type lookup.
private final class SystemStopwatch: Stopwatch {
  private let start = ContinuousClock.now

  var elapsed: Duration { start.duration(to: ContinuousClock.now) }

  func wait(until elapsed: Duration) async throws {
    try await ContinuousClock().sleep(until: start.advanced(by: elapsed))
  }
}

/// A clock, together with the instant at which the queue was created.
///
/// The conforming types are classes, because a stored generic instant would make the layout of every containing type dynamic.
private protocol Stopwatch: AnyObject, Sendable {
  var elapsed: Duration { get }
  func wait(until elapsed: Duration) async throws
}

/// A stopwatch for a custom clock.
private final class RunningStopwatch<C: Clock>: Stopwatch where C.Duration == Duration {
  let clock: C
  let start: C.Instant

  init(clock: C, start: C.Instant) {
    (self.clock, self.start) = (clock, start)
  }

  var elapsed: Duration { start.duration(to: clock.now) }

  func wait(until elapsed: Duration) async throws {
    try await clock.sleep(until: start.advanced(by: elapsed), tolerance: nil)
  }
}

/// An instant on a queue's clock, measured from the creation of the queue.
///
/// The resolution is one nanosecond. Only instants of the same queue can be compared.
public struct ProcedureInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
  let nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time since the creation of the queue.
  public var sinceStart: Duration { .nanoseconds(nanoseconds) }

  /// Returns the instant that is `duration` later. A result that cannot be represented is clamped to the first or the last instant.
  public func advanced(by duration: Duration) -> ProcedureInstant {
    ProcedureInstant(sinceStart: sinceStart.addingSaturated(duration))
  }

  /// Returns the time from this instant to `other`. The result is negative if `other` is earlier.
  public func duration(to other: ProcedureInstant) -> Duration {
    other.sinceStart - sinceStart
  }

  /// Returns whether `lhs` is earlier than `rhs`. Both must be instants of the same queue.
  public static func < (lhs: ProcedureInstant, rhs: ProcedureInstant) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// The instant in seconds, rounded to microseconds, such as `0.0123 seconds`.
  public var description: String { sinceStart.inSeconds }
}

extension ProcedureInstant: Codable {
  /// Decodes an instant from the number of seconds since the creation of the queue.
  public init(from decoder: any Decoder) throws {
    self.init(sinceStart: try Seconds(from: decoder).duration)
  }

  /// Encodes the instant as the number of seconds since the creation of the queue.
  public func encode(to encoder: any Encoder) throws { try Seconds(sinceStart).encode(to: encoder) }
}

extension ProcedureInstant {
  init(sinceStart duration: Duration) {
    self.init(nanoseconds: Int64(clamping: duration.attoseconds / 1_000_000_000))
  }
}
