/// The source of the choosers for an exploration. It provides one chooser for each schedule.
struct ChooserSource {
  private let strategy: ExplorationStrategy
  private let seed: UInt64
  /// The code to replay; `nil` if the strategy is not a replay.
  private var replay: ReplayCode?
  private var tree = ChoiceTree()
  private var lengths = ScheduleLengths()
  private var profile = ScheduleProfile()
  private let coverage = OrderCoverage()

  /// Creates the source for a strategy.
  ///
  /// - Throws: `ReplayCode.FormatError` if the strategy is a replay with a malformed string.
  init(_ strategy: ExplorationStrategy, seed: UInt64) throws {
    self.strategy = strategy
    self.seed = seed
    if case .replay(let text) = strategy { replay = try ReplayCode(text) }
  }

  /// Whether the exploration replays one recorded schedule.
  var isReplay: Bool { replay != nil }

  /// Returns an error if the order of tasks differs from the one in the replay string; otherwise `nil`.
  func divergence(of outcome: ScheduleRun.Outcome) -> ReplayDiverged? {
    guard let trail = replay?.trail, let step = trail.divergence(of: outcome.record.tasks) else { return nil }
    return ReplayDiverged(
      step: step, expectedSteps: trail.steps, order: outcome.record.tasks, problems: outcome.problems)
  }

  /// Whether every possible order has been run.
  var isExhausted: Bool { tree.next == nil }

  /// The largest number of preemptions for which every possible order has been run.
  var completePreemptions: Int? { tree.completePreemptions }

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
    case .partialOrder: return (PartialOrderChooser(generator: generator), scheduleSeed)
    case .uniform: return (UniformChooser(generator: generator, profile: profile), scheduleSeed)
    case .coverageGuided: return (CoverageChooser(generator: generator, coverage: coverage), scheduleSeed)
    case .roundRobin:
      return (RoundRobinChooser(), scheduleSeed)
    case .exhaustive:
      return tree.next.map { (ReplayChooser(choices: $0), SeededGenerator.seed(seed, 0)) }
    case .replay:
      return schedule == 0 ? replay.map { (ReplayChooser(choices: $0.choices), $0.seed) } : nil
    }
  }

  /// Updates the strategy with the record of a schedule.
  mutating func didRun(_ record: ScheduleRecord) {
    lengths.didRun(record.moments)
    if strategy == .uniform { profile.didRun(record) }
    if strategy == .exhaustive { tree.didRun(record) }
    if strategy == .coverageGuided { coverage.scheduleEnded() }
  }
}

/// The lengths of the shortest and the longest schedule of an exploration, in steps.
struct ScheduleLengths {
  private var shortest: Int?

  /// The number of steps in the longest schedule without starvation.
  private(set) var longest = 16

  /// The number of steps after which a task has probably been starved by another task that yields in a loop.
  ///
  /// The number is derived from the shortest schedule. If it were derived from the longest one, each schedule with a starved task would
  /// make the next one longer.
  var fairAfter: Int { max(shortest ?? 0, 16) * 20 + 1_000 }

  mutating func didRun(_ steps: Int) {
    shortest = min(shortest ?? steps, steps)
    if steps <= fairAfter { longest = max(longest, steps) }
  }
}

/// A strategy for choosing the next job from the ready jobs of an exploration.
@nonexhaustive
public enum ExplorationStrategy: Hashable, Sendable {
  /// Chooses the next job uniformly at random. The strategy finds bugs that occur in many orders.
  case random

  /// Chooses the next job according to random priorities, which change at `changePoints` random steps (PCT: Burckhardt et al., ASPLOS
  /// 2010).
  ///
  /// The strategy finds rare bugs that depend on a few ordering constraints. Use `d - 1` change points for `d` constraints.
  case priorities(changePoints: Int = 2)

  /// Gives each event a random priority (POS: Yuan et al., CAV 2018).
  ///
  /// The strategy finds bugs that depend on the order of a few events, and needs no estimate of the number of steps or of the depth of the
  /// bug.
  case partialOrder

  /// Makes every order of the events equally likely (SURW: Zhao et al., ASPLOS 2025). In some schedules, this applies only to the order of
  /// the visits to one actor.
  ///
  /// The strategy finds bugs that occur in only a few of the orders, even if the tasks take different numbers of steps. The numbers of
  /// steps are estimated from the previous schedule.
  case uniform

  /// Prefers orders that earlier schedules of the exploration have rarely run.
  ///
  /// The next job is the one that has followed the preceding jobs least often. Each schedule takes into account either the preceding job,
  /// the two preceding jobs, or all preceding jobs. The strategy finds bugs that occur in only a few of the orders of a small body. It
  /// keeps a count for each pair, triple and order that it has run, and uses at most about 40 MB of memory.
  case coverageGuided

  /// Alternates between `random` and `priorities(changePoints:)`. This is the default strategy.
  case mixed(changePoints: Int = 3)

  /// Runs every possible order once, unless the number of schedules is too small; see `ExplorationSummary.isComplete`.
  ///
  /// The strategy can prove that small bodies are correct. For example, two tasks with five choices each have a few hundred orders. First,
  /// all orders without a preemption are run, then all orders with one preemption, and so on; see `ExplorationSummary.completePreemptions`.
  /// All schedules use the same random numbers.
  ///
  /// No two orders are treated as equivalent, because tasks may share memory that the explorer cannot see. A task that waits at the end of
  /// `withTaskGroup` takes a step for each child that has ended, and the order of these steps is also a choice. For example, four empty
  /// children have 192 orders without a preemption.
  case exhaustive

  /// Lets the tasks take turns, running one job in each turn. This results in a single order, which is useful for comparison.
  case roundRobin

  /// Runs the single schedule that the replay string of a failure describes.
  case replay(String)
}
