/// A chooser that gives each event an independent random priority (partial order sampling, POS).
///
/// An event is a job, or the rest of a job after a wake. The ready event with the highest priority happens next. A task's next event gets a
/// new priority. When an event happens, the events that race with it also get new priorities, because an event that has just lost a race
/// would otherwise be likely to lose the next one, too. The only races that the explorer can detect are between jobs of the same actor, so
/// all other priorities are kept.
///
/// Yuan, Yang and Gu prove a lower bound on the probability of sampling each partial order. The bound is exponentially higher than that of
/// a random walk (*Partial Order Aware Concurrency Sampling*, CAV 2018). In contrast to PCT, the method does not depend on an estimate of
/// the number of steps or the depth of the bug.
struct PartialOrderChooser: ScheduleChooser {
  private var generator: SeededGenerator
  /// The priorities of the tasks' next events.
  private var priorities: [Int: UInt64] = [:]

  init(generator: SeededGenerator) {
    self.generator = generator
  }

  mutating func choose(among jobs: [ReadyJobDescription], step: Int) -> Int {
    let index = highest(of: jobs.map(\.task))
    let chosen = jobs[index]
    priorities[chosen.task] = nil
    guard let actor = chosen.actor else { return index }
    for job in jobs where job.actor == actor { priorities[job.task] = nil }
    return index
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    let index = highest(of: tasks)
    priorities[tasks[index]] = nil
    return index
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    guard !tasks.isEmpty else { return 0 }
    let index = highest(of: tasks)
    let rest = generator.next()
    guard priority(of: tasks[index]) > rest else { return 0 }
    priorities[running] = rest
    priorities[tasks[index]] = nil
    return index + 1
  }

  mutating func didSpin(_ task: Int) {
    priorities[task] = 0
  }

  private mutating func priority(of task: Int) -> UInt64 {
    if let priority = priorities[task] { return priority }
    let priority = generator.next()
    priorities[task] = priority
    return priority
  }

  private mutating func highest(of tasks: [Int]) -> Int {
    var best = 0
    for index in tasks.indices where priority(of: tasks[index]) > priority(of: tasks[best]) { best = index }
    return best
  }
}
