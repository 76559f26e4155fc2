/// Makes the chooser of each schedule of an exploration.
struct ChooserSource {
  private let strategy: ExplorationStrategy
  private let seed: UInt64
  /// `nil` unless the strategy is to replay.
  private var replay: ReplayCode?
  private var tree = ChoiceTree()
  private var lengths = ScheduleLengths()

  /// - Throws: `ReplayCode.FormatError` if the strategy has a malformed replay string.
  init(_ strategy: ExplorationStrategy, seed: UInt64) throws {
    self.strategy = strategy
    self.seed = seed
    if case .replay(let text) = strategy { replay = try ReplayCode(text) }
  }

  /// Whether the only schedule is one that was recorded.
  var isReplay: Bool { replay != nil }

  /// Whether every order there is has run.
  var isExhausted: Bool { tree.next == nil }

  /// The chooser of the schedule of that number and the seed of its random numbers, or `nil` if there are no more.
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
      return tree.next.map { (ReplayChooser(choices: $0), SeededGenerator.seed(seed, 0)) }
    case .replay:
      return schedule == 0 ? replay.map { (ReplayChooser(choices: $0.choices), $0.seed) } : nil
    }
  }

  /// Learns from a schedule what the next ones may be like.
  mutating func didRun(_ record: ScheduleRecord) {
    lengths.didRun(record.steps)
    if strategy == .exhaustive { tree.didRun(record.choices, widths: record.widths) }
  }
}
