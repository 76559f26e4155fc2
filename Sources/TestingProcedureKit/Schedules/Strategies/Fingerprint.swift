/// A fingerprint of a sequence of numbers (64-bit FNV-1a, with the high bits mixed into the low bits).
struct Fingerprint: Equatable {
  private var state: UInt64 = 0xCBF2_9CE4_8422_2325

  /// The fingerprint of the numbers so far.
  var value: UInt64 { state ^ (state >> 32) }

  mutating func add(_ number: Int) {
    state = (state ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
  }
}
