import Synchronization

/// Internal. The source of random numbers for a queue's schedules: the system, or a seed for tests.
final class RandomNumbers: Sendable {
  static let system = RandomNumbers(seed: nil)

  private let seeds: Mutex<SplitMix64?>

  init(seed: UInt64?) {
    seeds = Mutex(seed.map(SplitMix64.init))
  }

  /// Returns a generator for one use of a schedule.
  ///
  /// Each use needs its own generator: a schedule calls the user's functions, which must not happen under a lock.
  func makeGenerator() -> any RandomNumberGenerator {
    seeds.withLock { $0?.next() }.map(SplitMix64.init) ?? SystemRandomNumberGenerator()
  }
}

/// Internal. The generator of Steele, Lea and Flood ("Fast splittable pseudorandom number generators", 2014).
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
