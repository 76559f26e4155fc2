/// A small random number generator that produces the same numbers for the same seed on every platform.
///
/// The algorithm is SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014). The generator is
/// fast, and suitable for schedules and delays, but not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
  private static let increment: UInt64 = 0x9E37_79B9_7F4A_7C15

  private var state: UInt64

  /// Creates a generator for the sequence that belongs to `seed`.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next 64 random bits.
  public mutating func next() -> UInt64 {
    state &+= Self.increment
    return Self.mix(state)
  }

  /// Returns a number from `0` up to, but not including, `bound`. The result does not depend on the version of the standard library.
  ///
  /// - Precondition: `bound` is positive.
  public mutating func below(_ bound: Int) -> Int {
    precondition(bound > 0, "below(_:): the bound must be positive, got \(bound)")
    return Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Returns the seed of the `index`-th independent sequence derived from `seed`.
  static func seed(_ seed: UInt64, _ index: Int) -> UInt64 {
    mix(mix(seed) &+ UInt64(truncatingIfNeeded: index &+ 1) &* increment)
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var mixed = value
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
