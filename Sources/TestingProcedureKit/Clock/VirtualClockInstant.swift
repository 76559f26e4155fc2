extension VirtualClock {
  /// An instant of virtual time.
  public struct Instant: InstantProtocol, Hashable, Sendable, CustomStringConvertible {
    /// The time since zero, which is the default start of a clock.
    public var offset: Duration

    /// Makes the instant `offset` after zero.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// Returns the instant `duration` later; the last, or first, instant that exists, if the result would be beyond it.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset.addingSaturated(duration))
    }

    /// Returns the time from this instant to `other`, saturated; negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration {
      other.offset.subtractingSaturated(offset)
    }

    /// Returns whether `lhs` is earlier than `rhs`.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
      lhs.offset < rhs.offset
    }

    /// The time since zero, such as `1.5 seconds`.
    public var description: String {
      "\(offset)"
    }
  }
}
