/// The properties of a ready job that a chooser takes into account.
struct ReadyJobDescription {
  var task: Int
  /// The number that identifies the actor that the job visits; `nil` for a job outside any actor. Actors are numbered in the order in which
  /// they are first visited.
  var actor: Int?
}

/// A type that chooses the next job in a schedule.
protocol ScheduleChooser: Sendable {
  /// Returns the position in `tasks` of the job to run at `step`.
  ///
  /// `tasks` contains the task of each ready job, in the order in which the jobs became ready, and is never empty.
  mutating func choose(among tasks: [Int], step: Int) -> Int

  /// Returns the position in `jobs` of the job to run at `step`. The default implementation considers only the tasks of the jobs.
  mutating func choose(among jobs: [ReadyJobDescription], step: Int) -> Int

  /// Decides whether the task `running`, which has just made another task ready, is preempted.
  ///
  /// Returns `0` if the task continues; otherwise, returns the position of the preempting job in `tasks`, plus one. `tasks` is empty if no
  /// job is allowed to preempt the task.
  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int

  /// Notifies the chooser that `task` seems to be waiting in a loop for another task.
  mutating func didSpin(_ task: Int)
}

extension ScheduleChooser {
  func didSpin(_ task: Int) {}

  mutating func choose(among jobs: [ReadyJobDescription], step: Int) -> Int {
    choose(among: jobs.map(\.task), step: step)
  }

  func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int { 0 }
}

/// A chooser that always picks the first job. The first job belongs to the task that ran last if that task can continue and is still
/// preferred; see `ScheduleState.preferLastTask`. Otherwise, it is the job that has been waiting longest.
struct FirstChooser: ScheduleChooser {
  func choose(among tasks: [Int], step: Int) -> Int { 0 }
}

/// A chooser that picks each ready job with equal probability. At a wake, the running job usually continues.
///
/// Each schedule has its own probability of preemption, because some bugs need many preemptions, and others need long stretches without
/// preemption.
struct RandomChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// The odds of a preemption. On average, a task is preempted at one in `preemptionOdds` opportunities; never if the value is `0`.
  private let preemptionOdds: Int

  init(generator: SeededGenerator) {
    var generator = generator
    preemptionOdds = [0, 3, 12][generator.below(3)]
    self.generator = generator
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    tasks.count == 1 ? 0 : generator.below(tasks.count)
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    guard !tasks.isEmpty, preemptionOdds > 0, generator.below(preemptionOdds) == 0 else { return 0 }
    return 1 + generator.below(tasks.count)
  }
}

/// A chooser that lets the tasks take turns, running one job in each turn.
struct RoundRobinChooser: ScheduleChooser {
  private var last = -1

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    let later = tasks.indices.filter { tasks[$0] > last }
    let candidates = later.isEmpty ? Array(tasks.indices) : later
    let index = candidates.min { tasks[$0] < tasks[$1] } ?? 0
    last = tasks[index]
    return index
  }
}

/// A chooser that follows recorded choices, and then always takes the first job.
struct ReplayChooser: ScheduleChooser {
  private var remaining: ArraySlice<Int>

  init(choices: [Int]) {
    remaining = choices[...]
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    guard tasks.count > 1, let choice = remaining.popFirst() else { return 0 }
    return min(choice, tasks.count - 1)
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    min(remaining.popFirst() ?? 0, tasks.count)
  }
}
