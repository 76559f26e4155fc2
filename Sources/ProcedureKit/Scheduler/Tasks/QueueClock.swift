/// Internal. A queue's time: the only place in the library that reads a clock, or sleeps on one.
///
/// `package` for `ProcedureKitRemote`.
package struct QueueClock: Sendable {
  private let stopwatch: any Stopwatch
  /// Whether this is the system's clock. It goes on whatever is executed, and nobody can tell who sleeps on it; one of the
  /// user's may stand still.
  let isSystem: Bool

  package init(_ clock: any Clock<Duration>) {
    isSystem = clock is ContinuousClock
    stopwatch = isSystem ? SystemStopwatch() : Self.stopwatch(clock)
  }

  private static func stopwatch<C: Clock>(_ clock: C) -> any Stopwatch where C.Duration == Duration {
    RunningStopwatch(clock: clock, start: clock.now)
  }

  /// The present moment, read before the lock is taken.
  func reading() -> Reading { Reading(time: self, reading: now) }

  /// A moment that few ask for: read when it is asked for, but from a user's clock, which is not called under a lock.
  func lazyReading() -> Reading { Reading(time: self, reading: isSystem ? nil : now) }

  struct Reading {
    fileprivate let time: QueueClock
    fileprivate let reading: ProcedureInstant?

    var instant: ProcedureInstant { reading ?? time.now }
  }

  var now: ProcedureInstant { ProcedureInstant(sinceStart: stopwatch.elapsed) }

  /// Sleeps, in the current task. Cancelling it ends the sleep.
  ///
  /// - Throws: `CancellationError`; any other error of a user's clock.
  func wait(until instant: ProcedureInstant) async throws {
    try await stopwatch.wait(until: instant.sinceStart)
  }
}

/// The system's clock, without a type to look up at each reading.
private final class SystemStopwatch: Stopwatch {
  private let start = ContinuousClock.now

  var elapsed: Duration { start.duration(to: ContinuousClock.now) }

  func wait(until elapsed: Duration) async throws {
    try await ContinuousClock().sleep(until: start.advanced(by: elapsed))
  }
}

/// A clock and the instant from which it is read: in an object, since only the runtime knows the layout of an instant, and
/// would be asked for that of all that has one.
private protocol Stopwatch: AnyObject, Sendable {
  var elapsed: Duration { get }
  func wait(until elapsed: Duration) async throws
}

/// A clock of the user's.
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

/// An instant of a queue's clock, counted from the creation of the queue.
///
/// The resolution is one nanosecond. Only instants of one queue can be compared.
public struct ProcedureInstant: InstantProtocol, Hashable, Codable, Sendable, CustomStringConvertible {
  let nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The time since the creation of the queue.
  public var sinceStart: Duration { .nanoseconds(nanoseconds) }

  /// Returns the instant `duration` later; the last, or first, instant that exists, if the result would be beyond it.
  public func advanced(by duration: Duration) -> ProcedureInstant {
    ProcedureInstant(sinceStart: sinceStart.addingSaturated(duration))
  }

  /// Returns the time from this instant to `other`; negative if `other` is earlier.
  public func duration(to other: ProcedureInstant) -> Duration {
    other.sinceStart - sinceStart
  }

  /// Returns whether `lhs` is earlier than `rhs`, for instants of one queue.
  public static func < (lhs: ProcedureInstant, rhs: ProcedureInstant) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// The instant in seconds, to the microsecond: `0.0123 seconds`.
  public var description: String { sinceStart.inSeconds }
}

extension ProcedureInstant {
  init(sinceStart duration: Duration) {
    self.init(nanoseconds: Int64(clamping: duration.attoseconds / 1_000_000_000))
  }
}
