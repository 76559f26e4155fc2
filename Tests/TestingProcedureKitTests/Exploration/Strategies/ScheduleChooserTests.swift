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
}
