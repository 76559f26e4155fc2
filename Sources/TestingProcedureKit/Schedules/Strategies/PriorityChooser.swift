/// Random priorities with a few random change points: probabilistic concurrency testing (PCT).
///
/// Every strand gets a random priority when it first appears, and the ready strand with the highest one runs. At each
/// of
/// `changePoints` random steps the strand that would run falls below all others. A bug that needs `d` ordering
/// constraints is found with a probability of at least `1 / (n · kᵈ⁻¹)` in each schedule of `n` strands and `k` steps,
/// with `d - 1` change points (Burckhardt, Kothari, Musuvathi and Nagarakatti, *A Randomized Scheduler with
/// Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010).
///
/// Strict priorities starve others while a strand waits by yielding in a loop. As in later variants of the method, a
/// schedule that has become much longer than others goes on uniformly at random.
struct PriorityChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// By strand; larger runs first.
  private var priorities: [UInt64] = []
  /// In descending order.
  private var changes: [Int]
  private let fairAfter: Int

  /// A chooser for a schedule that will probably take as many steps as others have.
  init(generator: SeededGenerator, changePoints: Int, lengths: ScheduleLengths) {
    var generator = generator
    changes = (0..<changePoints).map { _ in generator.below(lengths.longest) }.sorted(by: >)
    self.generator = generator
    fairAfter = lengths.fairAfter
  }

  mutating func choose(among strands: [Int], step: Int) -> Int {
    if step >= fairAfter { return generator.below(strands.count) }
    for strand in strands where strand >= priorities.count { register(through: strand) }
    while let change = changes.last, change <= step {
      priorities[strands[highest(of: strands)]] = UInt64(changes.count)
      changes.removeLast()
    }
    return highest(of: strands)
  }

  /// Initial priorities lie above every one that a change gives.
  private mutating func register(through strand: Int) {
    while priorities.count <= strand { priorities.append(generator.next() | 1 << 63) }
  }

  private func highest(of strands: [Int]) -> Int {
    var best = 0
    for index in strands.indices.dropFirst() where priorities[strands[index]] > priorities[strands[best]] {
      best = index
    }
    return best
  }
}
