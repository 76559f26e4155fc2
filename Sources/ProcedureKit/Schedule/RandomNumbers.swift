import Synchronization

/// Internal. Where a queue's schedules take their random numbers from: the system, or a seed, for tests.
final class RandomNumbers: Sendable {
  static let system = RandomNumbers(seed: nil)

  private let seeds: Mutex<SplitMix64?>

  init(seed: UInt64?) {
    seeds = Mutex(seed.map(SplitMix64.init))
  }

  /// A generator for one use of a schedule. A generator for each, since a schedule calls functions of the user's, which
  /// must not happen under a lock.
  func makeGenerator() -> any RandomNumberGenerator {
    seeds.withLock { $0?.next() }.map(SplitMix64.init) ?? SystemRandomNumberGenerator()
  }
}

/// Internal. Steele, Lea and Flood's generator ("Fast splittable pseudorandom number generators", 2014).
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
