extension VirtualClock {
  /// A point of virtual time.
  public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
    /// The time since zero, where a clock stands at first unless it is told otherwise.
    public var offset: Duration

    /// The instant `offset` after zero.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// The instant `duration` after this one.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + duration)
    }

    /// The time from this instant to `other`, negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration {
      other.offset - offset
    }

    /// Orders instants by time.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
      lhs.offset < rhs.offset
    }

    /// The time since zero, as in `1.5 seconds`.
    public var description: String {
      "\(offset)"
    }
  }
}
