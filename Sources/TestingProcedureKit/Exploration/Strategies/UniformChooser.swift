/// A chooser that makes all orders of the interesting events equally likely (selectively uniform random walk, SURW).
///
/// If task `t` has `r(t)` events left, the next event belongs to `t` with probability `r(t) / Σ r`. Therefore, each order of the events has
/// the same probability, whereas a walk that chooses tasks uniformly favours orders in which the shortest task ends early. If only some
/// events are interesting, the task for the next interesting event is chosen in this way. Until that event happens, the interesting events
/// of other tasks wait, and all uninteresting events happen at random (Zhao, Wolff, Mathur and Roychoudhury, *Selectively Uniform
/// Concurrency Testing*, ASPLOS 2025).
///
/// If the numbers of events are known and no task waits for another one, each of the `N` orders of the interesting events has a probability
/// of `1/N`, as the paper proves. Here, the numbers come from an earlier schedule, and the events of a task that has not been started are
/// attributed to the task that will start it. In each schedule, either the visits to one actor or all events are interesting.
struct UniformChooser: ScheduleChooser {
  private var generator: SeededGenerator
  private let profile: ScheduleProfile
  /// The actor whose visits are interesting; `nil` if all events are interesting.
  private let actor: Int?
  /// The number of interesting events that each task has left.
  private var remaining: [Int: Int]
  private var started: Set<Int> = []
  /// The task that was chosen for the next interesting event; `nil` if none has been chosen yet.
  private var intended: Int?
  /// The odds of a preemption. On average, a task is preempted at one in `preemptionOdds` opportunities; never if the value is `0`.
  private let preemptionOdds: Int

  init(generator: SeededGenerator, profile: ScheduleProfile) {
    var generator = generator
    self.profile = profile
    let actors = profile.actors
    // The visits to an actor are interesting only if several tasks visit it.
    actor = actors.isEmpty || generator.below(2) == 0 ? nil : actors[generator.below(actors.count)]
    remaining = profile.events(at: actor)
    preemptionOdds = [0, 3, 12][generator.below(3)]
    self.generator = generator
  }

  mutating func choose(among jobs: [ReadyJobDescription], step: Int) -> Int {
    for job in jobs { started.insert(job.task) }
    if jobs.count == 1 { return take(0, jobs) }
    guard let actor else { return take(weighted(Array(jobs.indices), jobs), jobs) }
    let interesting = jobs.indices.filter { jobs[$0].actor == actor }
    if intended.map({ task in !jobs.contains { $0.task == task } }) ?? true {
      intended = jobs[weighted(Array(jobs.indices), jobs)].task
    }
    if let index = interesting.first(where: { jobs[$0].task == intended }) {
      intended = nil
      return take(index, jobs)
    }
    let others = jobs.indices.filter { jobs[$0].actor != actor }
    return take(others.isEmpty ? weighted(interesting, jobs) : others[generator.below(others.count)], jobs)
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    choose(among: tasks.map { ReadyJobDescription(task: $0, actor: nil) }, step: step)
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    for task in tasks { started.insert(task) }
    started.insert(running)
    guard !tasks.isEmpty, preemptionOdds > 0, generator.below(preemptionOdds) == 0 else { return 0 }
    return 1 + weighted(Array(tasks.indices), tasks.map { ReadyJobDescription(task: $0, actor: nil) })
  }

  private mutating func take(_ index: Int, _ jobs: [ReadyJobDescription]) -> Int {
    let job = jobs[index]
    if actor == nil || job.actor == actor { remaining[job.task] = max(0, remaining[job.task, default: 0] - 1) }
    return index
  }

  /// Returns a random position from `candidates`. The probability of each position is proportional to the number of events that its task
  /// has left.
  private mutating func weighted(_ candidates: [Int], _ jobs: [ReadyJobDescription]) -> Int {
    let weights = candidates.map { max(1, weight(of: jobs[$0].task)) }
    var rest = generator.below(weights.reduce(0, +))
    for (index, weight) in zip(candidates, weights) {
      if rest < weight { return index }
      rest -= weight
    }
    return candidates[0]
  }

  private func weight(of task: Int) -> Int {
    remaining[task, default: 0]
      + profile.children(of: task).lazy.filter { !started.contains($0) }.map { weight(of: $0) }.reduce(0, +)
  }
}

/// The numbers of events in an earlier schedule, by task and actor.
struct ScheduleProfile {
  private var steps: [Int: Int] = [:]
  private var visits: [Int: [Int: Int]] = [:]
  private var started: [Int: [Int]] = [:]

  /// The actors that several tasks have visited, in the order in which they were first visited.
  var actors: [Int] { visits.keys.filter { (visits[$0] ?? [:]).count > 1 }.sorted() }

  /// Returns the number of visits that each task has made to `actor`, or the number of steps that each task has taken if `actor` is `nil`.
  func events(at actor: Int?) -> [Int: Int] { actor.map { visits[$0] ?? [:] } ?? steps }

  /// Returns the tasks that `task` has started.
  func children(of task: Int) -> [Int] { started[task] ?? [] }

  /// Replaces the numbers of events with those in `record`.
  mutating func didRun(_ record: ScheduleRecord) {
    self = ScheduleProfile()
    for (step, task) in record.tasks.enumerated() {
      steps[task, default: 0] += 1
      if let actor = record.actors[step] { visits[actor, default: [:]][task, default: 0] += 1 }
    }
    for (task, starter) in record.starters.sorted(by: { $0.key < $1.key }) {
      started[starter, default: []].append(task)
    }
  }
}
