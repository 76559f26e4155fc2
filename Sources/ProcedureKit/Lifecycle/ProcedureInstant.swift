/// An instant of a queue's clock, counted from the creation of the queue.
///
/// The resolution is one nanosecond. Only instants of one queue can be compared.
public struct ProcedureInstant: InstantProtocol, Hashable, Codable, Sendable, CustomStringConvertible {
  let nanoseconds: Int64

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
