/// The source of the choosers of an exploration, one for each schedule.
struct ChooserSource {
  private let strategy: ExplorationStrategy
  private let seed: UInt64
  /// The code to replay; `nil` for every other strategy.
  private var replay: ReplayCode?
  private var tree = ChoiceTree()
  private var lengths = ScheduleLengths()

  /// Makes the source for a strategy.
  ///
  /// - Throws: `ReplayCode.FormatError` for a malformed replay string.
  init(_ strategy: ExplorationStrategy, seed: UInt64) throws {
    self.strategy = strategy
    self.seed = seed
    if case .replay(let text) = strategy { replay = try ReplayCode(text) }
  }

  /// Whether the exploration replays one recorded schedule.
  var isReplay: Bool { replay != nil }

  /// Returns the error for an order that differs from the order of the replay string; `nil` for an equal order.
  func divergence(of outcome: ScheduleRun.Outcome) -> ReplayDiverged? {
    guard let trail = replay?.trail, let step = trail.divergence(of: outcome.record.strands) else { return nil }
    return ReplayDiverged(
      step: step, expectedSteps: trail.steps, order: outcome.record.strands, problems: outcome.problems)
  }

  /// Whether every possible order has run.
  var isExhausted: Bool { tree.next == nil }

  /// The largest number of overtaken wakers with which every possible order has run.
  var completeOvertakings: Int? { tree.completeOvertakings }

  /// Returns the chooser and the random seed of a schedule; `nil` after the last schedule.
  func next(_ schedule: Int) -> (chooser: any ScheduleChooser, seed: UInt64)? {
    let scheduleSeed = SeededGenerator.seed(seed, schedule)
    let generator = SeededGenerator(seed: SeededGenerator.seed(scheduleSeed, 0))
    switch strategy {
    case .mixed where schedule % 2 == 0, .random:
      return (RandomChooser(generator: generator), scheduleSeed)
    case .mixed(let changePoints), .priorities(let changePoints):
      let chooser = PriorityChooser(generator: generator, changePoints: changePoints, lengths: lengths)
      return (chooser, scheduleSeed)
    case .roundRobin:
      return (RoundRobinChooser(), scheduleSeed)
    case .exhaustive:
      return tree.next.map { (ReplayChooser(choices: $0, prefersDrains: true), SeededGenerator.seed(seed, 0)) }
    case .replay:
      return schedule == 0 ? replay.map { (ReplayChooser(choices: $0.choices), $0.seed) } : nil
    }
  }

  /// Updates the strategy with the record of a schedule.
  mutating func didRun(_ record: ScheduleRecord) {
    lengths.didRun(record.moments)
    if strategy == .exhaustive { tree.didRun(record) }
  }
}
