/// A system of machines and their surroundings, in one state. A ``StateSearch`` visits every state that it can reach.
///
/// The world is a class so that the search decides when it is copied: the last step of a state changes the world in place.
protocol ModelWorld: AnyObject {
  /// Returns an independent copy of the state.
  func copied() -> Self

  /// Appends the steps that can happen next, and returns how many of them are certain to happen if nothing else does. A cancellation, for
  /// example, can happen at any time, but no run may depend on it.
  func addSteps(to steps: inout ContiguousArray<UInt16>) -> Int

  /// Performs a step, and checks the invariants of the change.
  func perform(_ step: UInt16)

  /// Checks the invariants of the state.
  func check()

  /// Whether every run has ended and will not be followed by another one.
  var isOver: Bool { get }

  /// The first invariant that the latest step or check has found to be violated.
  var violation: Violation? { get }

  /// The hash of the state. States that differ only in names are equal, and so are their hashes.
  func fingerprint() -> UInt64

  /// A readable name of a step, for the report of a violation.
  func name(of step: UInt16) -> String
}

/// A violated invariant, with the steps that lead to it.
struct Violation: CustomStringConvertible {
  let invariant: Invariant
  let message: String
  var path: [String] = []

  var description: String { "\(invariant): \(message)\n\(path.joined(separator: "\n"))" }
}

/// Visits every reachable state of a world, depth first, and checks the invariants in each state and of each change.
///
/// A state is stored as a 63-bit hash, so two of n states are confused with a probability of less than n² / 2⁶⁴: 0.000006 for 10⁷ states.
/// One further bit marks the states on the path to the current one. A step to such a state closes a cycle, in which the runs could continue
/// forever. Therefore, if the search finds no cycle and no state without a next step, every run ends under fairness.
struct StateSearch {
  private(set) var stateCount = 0
  private(set) var transitionCount = 0
  private(set) var depth = 0
  /// The number of states in which every run has ended.
  private(set) var finalCount = 0

  private struct Frame<World> {
    var world: World?
    let fingerprint: UInt64
    /// The part of `steps` that has not been performed yet, and its end.
    var next: Int
    let end: Int
  }

  /// Visits the states that are reachable from `initial`, but at most `limit` of them. Returns the first violation, if there is one.
  mutating func run<World: ModelWorld>(from initial: World, limit: Int = .max) -> Violation? {
    let visited = FingerprintSet()
    var frames: [Frame<World>] = []
    var steps: ContiguousArray<UInt16> = []
    if let violation = enter(initial, initial.fingerprint(), visited, &frames, &steps) { return violation }
    while let last = frames.indices.last {
      let (next, end) = (frames[last].next, frames[last].end)
      if next == end {
        visited.close(frames[last].fingerprint)
        frames.removeLast()
        steps.removeLast(steps.count - (frames.last?.end ?? 0))
        continue
      }
      frames[last].next = next + 1
      guard let world = next + 1 == end ? frames[last].world.take() : frames[last].world?.copied() else { break }
      world.perform(steps[next])
      transitionCount += 1
      let violation = world.violation ?? enter(world, world.fingerprint(), visited, &frames, &steps)
      if var violation {
        violation.path = frames.compactMap { $0.next > 0 ? steps[$0.next - 1] : nil }.map(world.name(of:))
        return violation
      }
      if stateCount >= limit { return nil }
    }
    return nil
  }

  /// Checks a state and makes it the current one, unless it has been visited before.
  private mutating func enter<World: ModelWorld>(
    _ world: World, _ fingerprint: UInt64, _ visited: FingerprintSet, _ frames: inout [Frame<World>],
    _ steps: inout ContiguousArray<UInt16>
  ) -> Violation? {
    switch visited.open(fingerprint) {
    case .known: return nil
    case .isOpen: return Violation(invariant: .progress, message: "the steps lead back to an earlier state of the path")
    case .new: break
    }
    stateCount += 1
    world.check()
    if let violation = world.violation { return violation }
    let start = steps.count
    let certain = world.addSteps(to: &steps)
    if world.isOver {
      finalCount += 1
    } else if certain == 0 {
      return Violation(invariant: .progress, message: "a run has not ended, and nothing is certain to happen")
    }
    frames.append(Frame(world: world, fingerprint: fingerprint, next: start, end: steps.count))
    depth = max(depth, frames.count)
    return nil
  }
}

/// A set of 63-bit hashes, each with a mark, in a table with open addressing.
private final class FingerprintSet {
  enum Entry { case new, known, isOpen }

  private var capacity = 1 << 12
  private var count = 0
  private var table: UnsafeMutablePointer<UInt64>

  init() {
    table = .allocate(capacity: capacity)
    table.initialize(repeating: 0, count: capacity)
  }

  deinit { table.deallocate() }

  /// Inserts a hash with its mark set. If the hash is in the set already, the set does not change.
  func open(_ fingerprint: UInt64) -> Entry {
    let place = place(of: fingerprint)
    guard table[place] == 0 else { return table[place] & 1 == 1 ? .isOpen : .known }
    table[place] = fingerprint | 1
    count += 1
    if count * 3 > capacity * 2 { grow() }
    return .new
  }

  /// Removes the mark of a hash in the set.
  func close(_ fingerprint: UInt64) { table[place(of: fingerprint)] &= ~1 }

  private func place(of fingerprint: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: fingerprint >> 8) & (capacity - 1)
    while table[place] != 0, (table[place] ^ fingerprint) & ~1 != 0 { place = (place &+ 1) & (capacity - 1) }
    return place
  }

  private func grow() {
    let (old, oldCapacity) = (table, capacity)
    capacity *= 2
    table = .allocate(capacity: capacity)
    table.initialize(repeating: 0, count: capacity)
    var index = 0
    while index < oldCapacity {
      if old[index] != 0 { table[place(of: old[index])] = old[index] }
      index += 1
    }
    old.deallocate()
  }
}

/// Combines words to a hash whose bits all depend on all words. It is not `Hasher`, so a state has the same hash in each process.
struct Fingerprint {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  @inline(__always)
  mutating func combine(_ word: UInt64) {
    var mixed = (value ^ word) &* 0xBF58_476D_1CE4_E5B9
    mixed ^= mixed >> 29
    mixed = mixed &* 0x94D0_49BB_1331_11EB
    value = mixed ^ (mixed >> 32)
  }

  /// The hash. It is never 0 or 1, which ``FingerprintSet`` uses for an empty place.
  var result: UInt64 { value & ~1 == 0 ? 2 : value & ~1 }
}
