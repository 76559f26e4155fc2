import Testing

@testable import TestingProcedureKit

@Suite struct ScheduleChooserTests {
  private func lengths(_ steps: Int...) -> ScheduleLengths {
    steps.reduce(into: ScheduleLengths()) { $0.didRun($1) }
  }

  @Test("The random chooser takes every position")
  func random() {
    var chooser = RandomChooser(generator: SeededGenerator(seed: 3))
    let chosen = (0..<200).map { chooser.choose(among: [7, 8, 9], step: $0) }
    #expect(Set(chosen) == [0, 1, 2])
  }

  @Test("Round robin takes the tasks in turn")
  func roundRobin() {
    var chooser = RoundRobinChooser()
    let ready = [2, 0, 5]
    #expect((0..<5).map { ready[chooser.choose(among: ready, step: $0)] } == [0, 2, 5, 0, 2])
  }

  @Test("A replay follows its choices where there are alternatives, and then takes the first")
  func replay() {
    var chooser = ReplayChooser(choices: [2, 1, 9])
    let ready = [[1, 2, 3], [1], [1, 2], [1, 2, 3], [1, 2]]
    #expect(ready.enumerated().map { chooser.choose(among: $1, step: $0) } == [2, 0, 1, 2, 0])
  }

  @Test("Without change points, priorities are strict: one task runs as long as it is ready")
  func strictPriorities() {
    var chooser = PriorityChooser(generator: SeededGenerator(seed: 4), changePoints: 0, lengths: lengths(100))
    let chosen = Set((0..<100).map { chooser.choose(among: [0, 1, 2, 3], step: $0) })
    #expect(chosen.count == 1)
  }

  @Test("Each change point puts the running task below all others", arguments: 0..<20 as Range<UInt64>)
  func changePoints(seed: UInt64) {
    var chooser = PriorityChooser(generator: SeededGenerator(seed: seed), changePoints: 3, lengths: lengths(50))
    let chosen = (0..<60).map { chooser.choose(among: [0, 1, 2, 3, 4], step: $0) }
    let runs = chosen.reduce(into: [Int]()) { runs, task in if runs.last != task { runs.append(task) } }
    #expect(runs.count <= 4, "seed \(seed)")
    #expect(Set(runs).count == runs.count, "seed \(seed): a task came back")
  }

  @Test("A schedule that becomes much longer than expected continues with random choices")
  func fairness() {
    var chooser = PriorityChooser(generator: SeededGenerator(seed: 4), changePoints: 2, lengths: lengths(16))
    let chosen = Set((2_000..<2_100).map { chooser.choose(among: [0, 1, 2], step: $0) })
    #expect(chosen == [0, 1, 2])
  }

  @Test("A schedule with starvation does not prolong starvation in later schedules")
  func starvation() {
    let usual = lengths(100, 90, 120)
    #expect(usual.longest == 120)
    #expect(lengths(100, 90, 120, usual.fairAfter + 50).fairAfter == usual.fairAfter)
    #expect(lengths(100, 90, 120, usual.fairAfter + 50).longest == 120)
    #expect(lengths(50_000).longest == 50_000)
  }

  /// Runs tasks whose jobs are always ready until each has had its number of jobs.
  ///
  /// - Returns: The order of the jobs, as the tasks' digits.
  private func order(_ counts: [Int], _ chooser: some ScheduleChooser) -> String {
    var (chooser, left, order) = (chooser, counts, "")
    while left.contains(where: { $0 > 0 }) {
      let jobs = left.indices.filter { left[$0] > 0 }.map { ReadyJobDescription(task: $0, actor: nil) }
      let task = jobs[chooser.choose(among: jobs, step: order.count)].task
      left[task] -= 1
      order += "\(task)"
    }
    return order
  }

  @Test("Partial order sampling gives each order of single events the same probability")
  func partialOrder() {
    var counts: [String: Int] = [:]
    for seed in 0..<6_000 as Range<UInt64> {
      counts[order([1, 1, 1], PartialOrderChooser(generator: SeededGenerator(seed: seed))), default: 0] += 1
    }
    #expect(counts.count == 6 && counts.values.allSatisfy { (850...1_150).contains($0) }, "\(counts)")
  }

  @Test("Jobs that race at one actor get new priorities, and all others keep theirs")
  func racing() {
    var (kept, redrawn) = (0, 0)
    for seed in 0..<200 as Range<UInt64> {
      for (isRacing, actor) in [(false, nil), (true, 0)] as [(Bool, Int?)] {
        var chooser = PartialOrderChooser(generator: SeededGenerator(seed: seed))
        let jobs = (0..<2).map { ReadyJobDescription(task: $0, actor: actor) }
        let first = chooser.choose(among: jobs, step: 0)
        // The first task has a new priority. The other one keeps its priority, which is low, unless the jobs race.
        let isSame = chooser.choose(among: jobs, step: 1) == first
        if isRacing { redrawn += isSame ? 1 : 0 } else { kept += isSame ? 1 : 0 }
      }
    }
    #expect(kept > redrawn, "\(kept), \(redrawn)")
  }

  @Test(
    "A selectively uniform walk gives each order the same probability, even if the tasks have different numbers of steps"
  )
  func uniform() {
    var record = ScheduleRecord()
    for task in [0, 1, 1, 1, 1] { record.didRun(task) }
    var profile = ScheduleProfile()
    profile.didRun(record)
    var counts: [String: Int] = [:]
    for seed in 0..<5_000 as Range<UInt64> {
      counts[order([1, 4], UniformChooser(generator: SeededGenerator(seed: seed), profile: profile)), default: 0] += 1
    }
    #expect(counts.count == 5 && counts.values.allSatisfy { (850...1_150).contains($0) }, "\(counts)")
  }

  @Test("The events of a task that has not been started count for the task that starts it")
  func started() {
    var record = ScheduleRecord()
    record.didStart(2, by: 1)
    for task in [0, 1, 2, 2, 2] { record.didRun(task) }
    var profile = ScheduleProfile()
    profile.didRun(record)
    var first = 0
    for seed in 0..<5_000 as Range<UInt64> {
      var chooser = UniformChooser(generator: SeededGenerator(seed: seed), profile: profile)
      first += chooser.choose(among: [0, 1].map { ReadyJobDescription(task: $0, actor: nil) }, step: 0)
    }
    #expect((3_850...4_150).contains(first), "task 1 has 4 of 5 events: \(first)")
  }

  @Test(
    "A coverage-guided exploration runs almost all of 120 orders in 300 schedules, and more than a random one",
    arguments: 0..<20 as Range<UInt64>)
  func coverage(seed: UInt64) {
    let coverage = OrderCoverage()
    var (guided, random): (Set<String>, Set<String>) = ([], [])
    for schedule in 0..<300 {
      let generator = SeededGenerator(seed: SeededGenerator.seed(seed, schedule))
      guided.insert(order([1, 1, 1, 1, 1], CoverageChooser(generator: generator, coverage: coverage)))
      coverage.scheduleEnded()
      random.insert(order([1, 1, 1, 1, 1], RandomChooser(generator: generator)))
    }
    #expect(guided.count >= 118 && guided.count > random.count, "\(guided.count), \(random.count)")
  }
}
