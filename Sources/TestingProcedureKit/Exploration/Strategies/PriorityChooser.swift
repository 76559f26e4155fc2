/// A chooser with random priorities and a few random change points: probabilistic concurrency testing (PCT).
///
/// Every strand gets a random priority at its first appearance, and the ready strand with the highest priority runs. At
/// each of `changePoints` random steps, the strand that would run gets the lowest priority. In each schedule of `n`
/// strands and `k` steps, `d - 1` change points find a bug with `d` ordering constraints with a probability of at least
/// `1 / (n · kᵈ⁻¹)` (Burckhardt, Kothari, Musuvathi and Nagarakatti, *A Randomized Scheduler with Probabilistic
/// Guarantees of Finding Bugs*, ASPLOS 2010).
///
/// Strict priorities starve other strands while a strand waits by yielding in a loop. As in later variants of the
/// method, a schedule that is much longer than the other schedules therefore goes on uniformly at random.
struct PriorityChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// The priorities by strand; the largest runs first.
  private var priorities: [UInt64] = []
  /// The steps of the change points, in descending order.
  private var changes: [Int]
  private let fairAfter: Int

  /// Makes a chooser for a schedule of roughly the `lengths` of earlier schedules.
  init(generator: SeededGenerator, changePoints: Int, lengths: ScheduleLengths) {
    var generator = generator
    changes = (0..<changePoints).map { _ in generator.below(lengths.longest) }.sorted(by: >)
    self.generator = generator
    fairAfter = lengths.fairAfter
  }

  mutating func choose(among strands: [Int], step: Int) -> Int {
    if step >= fairAfter { return generator.below(strands.count) }
    for strand in strands { register(through: strand) }
    while isChange(at: step) { lower(strands[highest(of: strands)]) }
    return highest(of: strands)
  }

  mutating func chooseAtWake(running: Int, among strands: [Int], step: Int) -> Int {
    if step >= fairAfter || strands.isEmpty { return 0 }
    register(through: running)
    for strand in strands { register(through: strand) }
    while isChange(at: step) {
      let best = strands[highest(of: strands)]
      lower(priorities[running] > priorities[best] ? running : best)
    }
    let index = highest(of: strands)
    return priorities[running] > priorities[strands[index]] ? 0 : index + 1
  }

  /// A strand that waits in a loop runs after all other strands.
  mutating func didGiveWay(_ strand: Int) {
    register(through: strand)
    priorities[strand] = 0
  }

  private func isChange(at step: Int) -> Bool {
    changes.last.map { $0 <= step } ?? false
  }

  private mutating func lower(_ strand: Int) {
    priorities[strand] = UInt64(changes.count)
    changes.removeLast()
  }

  /// Registers strands. Initial priorities exceed every priority of a change point.
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
