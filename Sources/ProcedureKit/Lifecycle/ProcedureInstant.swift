/// A point in time on a queue's own clock, counted from the moment the queue was made.
///
/// Resolution: one nanosecond. Instants of one queue can be compared; those of different queues can not.
public struct ProcedureInstant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
  let nanoseconds: Int64

  init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  init(sinceStart duration: Duration) {
    nanoseconds = Int64(clamping: duration.attoseconds / 1_000_000_000)
  }

  /// The time since the queue was made.
  public var sinceStart: Duration {
    .nanoseconds(nanoseconds)
  }

  /// The instant that lies `duration` after this one.
  public func advanced(by duration: Duration) -> ProcedureInstant {
    ProcedureInstant(sinceStart: sinceStart + duration)
  }

  /// The time from this instant to `other`, negative if `other` is earlier.
  public func duration(to other: ProcedureInstant) -> Duration {
    other.sinceStart - sinceStart
  }

  /// Orders instants of one queue by time.
  public static func < (lhs: ProcedureInstant, rhs: ProcedureInstant) -> Bool {
    lhs.nanoseconds < rhs.nanoseconds
  }

  /// The instant as people read it, to the microsecond: `0.0123 seconds`.
  public var description: String {
    sinceStart.inSeconds
  }
}
