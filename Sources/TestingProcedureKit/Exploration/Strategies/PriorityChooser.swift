/// A chooser with random priorities and a few random change points (probabilistic concurrency testing, PCT).
///
/// Every task gets a random priority when it first becomes ready, and the ready task with the highest priority runs. At each of
/// `changePoints` random steps, the task that would run next gets the lowest priority. With a probability of at least `1 / (n · kᵈ⁻¹)`,
/// `d - 1` change points in a schedule of `n` tasks and `k` steps find a bug that depends on `d` ordering constraints (Burckhardt, Kothari,
/// Musuvathi and Nagarakatti, *A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs*, ASPLOS 2010).
///
/// With strict priorities, a task that yields in a loop starves other tasks. Therefore, as in later variants of the method, choices are
/// made uniformly at random once a schedule is much longer than the others.
struct PriorityChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// The priorities, indexed by task. The ready task with the highest priority runs.
  private var priorities: [UInt64] = []
  /// The numbers of the steps at which a priority changes, in descending order.
  private var changes: [Int]
  private let fairAfter: Int

  /// Creates a chooser for a schedule whose length is estimated from the `lengths` of earlier schedules.
  init(generator: SeededGenerator, changePoints: Int, lengths: ScheduleLengths) {
    var generator = generator
    changes = (0..<changePoints).map { _ in generator.below(lengths.longest) }.sorted(by: >)
    self.generator = generator
    fairAfter = lengths.fairAfter
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    if step >= fairAfter { return generator.below(tasks.count) }
    for task in tasks { register(through: task) }
    while isChange(at: step) { lower(tasks[highest(of: tasks)]) }
    return highest(of: tasks)
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    if step >= fairAfter || tasks.isEmpty { return 0 }
    register(through: running)
    for task in tasks { register(through: task) }
    while isChange(at: step) {
      let best = tasks[highest(of: tasks)]
      lower(priorities[running] > priorities[best] ? running : best)
    }
    let index = highest(of: tasks)
    return priorities[running] > priorities[tasks[index]] ? 0 : index + 1
  }

  /// Gives the lowest priority to a task that is waiting in a loop.
  mutating func didSpin(_ task: Int) {
    register(through: task)
    priorities[task] = 0
  }

  private func isChange(at step: Int) -> Bool {
    changes.last.map { $0 <= step } ?? false
  }

  private mutating func lower(_ task: Int) {
    priorities[task] = UInt64(changes.count)
    changes.removeLast()
  }

  /// Registers all tasks up to `task`. Initial priorities are higher than every priority assigned at a change point.
  private mutating func register(through task: Int) {
    while priorities.count <= task { priorities.append(generator.next() | 1 << 63) }
  }

  private func highest(of tasks: [Int]) -> Int {
    var best = 0
    for index in tasks.indices.dropFirst() where priorities[tasks[index]] > priorities[tasks[best]] {
      best = index
    }
    return best
  }
}
