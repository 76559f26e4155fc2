import Synchronization

/// A chooser that prefers orders that earlier schedules of the exploration have rarely run.
///
/// An event is a step of a task, or the rest of a step after a wake. The chooser counts, over all schedules, how often each event directly
/// followed each of the other events, and chooses the ready event with the smallest count. This brings together events that are usually far
/// apart (compare Yu, Narayanasamy, Pereira and Pokam, *Maple: A Coverage-Driven Testing Tool for Multithreaded Programs*, OOPSLA 2012,
/// which forces pairs of memory accesses that earlier executions have not covered).
///
/// Counting only pairs does not reveal rare combinations of pairs. Each schedule is therefore guided either by pairs, by triples, or by the
/// whole order up to the choice. In the last case, no order of a small body is repeated before its alternatives have been run equally
/// often.
struct CoverageChooser: ScheduleChooser {
  private var generator: SeededGenerator
  private let coverage: OrderCoverage
  private let context: OrderCoverage.Context
  private var history = OrderCoverage.History()
  private var hasBegun = false
  /// The odds of considering a preemption. On average, a preemption is considered at one in `preemptionOdds` opportunities; never if the
  /// value is `0`.
  private let preemptionOdds: Int

  init(generator: SeededGenerator, coverage: OrderCoverage) {
    var generator = generator
    context = OrderCoverage.Context.allCases[generator.below(OrderCoverage.Context.allCases.count)]
    preemptionOdds = [0, 3, 12][generator.below(3)]
    (self.generator, self.coverage) = (generator, coverage)
  }

  mutating func choose(among tasks: [Int], step: Int) -> Int {
    let events = tasks.map { history.nextEvent(of: $0) }
    let index = events.count == 1 ? 0 : rarest(of: events)
    take(events[index], isChoice: events.count > 1)
    history.didStart(tasks[index])
    return index
  }

  mutating func chooseAtWake(running: Int, among tasks: [Int], step: Int) -> Int {
    guard !tasks.isEmpty, preemptionOdds > 0, generator.below(preemptionOdds) == 0 else { return 0 }
    let events = [history.restOfEvent(of: running)] + tasks.map { history.nextEvent(of: $0) }
    let index = rarest(of: events)
    take(events[index], isChoice: true)
    if index > 0 { history.didStart(tasks[index - 1]) }
    return index
  }

  private mutating func take(_ event: UInt64, isChoice: Bool) {
    // If a schedule is run again, for example after a collision at a lock, the choices of the previous attempt do not count.
    if !hasBegun { coverage.beginSchedule() }
    hasBegun = true
    if isChoice { coverage.didTake(event, after: history) }
    history.append(event)
  }

  /// Returns the position of the event that has followed the current context least often. If there are several such events, one of them is
  /// chosen at random.
  private mutating func rarest(of events: [UInt64]) -> Int {
    let counts = coverage.counts(of: events, after: history, in: context)
    let least = counts.min() ?? 0
    let candidates = counts.indices.filter { counts[$0] == least }
    return candidates[generator.below(candidates.count)]
  }
}

/// The number of times that each event has been chosen after each context. All choosers of an exploration share one object.
///
/// The choices of a schedule are counted when the schedule has ended, so a schedule depends only on the seed and the earlier schedules.
final class OrderCoverage: Sendable {
  /// The preceding events that a schedule takes into account when it makes a choice.
  enum Context: UInt64, CaseIterable {
    case latest
    case latestTwo
    case all
  }

  /// The order of the events of one schedule so far.
  struct History {
    private var latest: UInt64 = 0
    private var latestButOne: UInt64 = 0
    private var all: UInt64 = 0
    /// The number of steps that each task has started.
    private var steps: [Int: UInt64] = [:]

    func nextEvent(of task: Int) -> UInt64 { Self.event(task, step: steps[task, default: 0] + 1) }

    /// Returns the event that represents the rest of the step that `task` is executing.
    func restOfEvent(of task: Int) -> UInt64 { ~Self.event(task, step: steps[task, default: 0]) }

    mutating func didStart(_ task: Int) { steps[task, default: 0] += 1 }

    mutating func append(_ event: UInt64) {
      (latestButOne, latest) = (latest, event)
      all = SeededGenerator.seed(all ^ event, 0)
    }

    func key(_ context: Context, _ event: UInt64) -> UInt64 {
      let past =
        switch context {
        case .latest: latest
        case .latestTwo: SeededGenerator.seed(latestButOne, 0) ^ latest
        case .all: all
        }
      return SeededGenerator.seed(past, 1) ^ SeededGenerator.seed(event, 2) &+ context.rawValue
    }

    private static func event(_ task: Int, step: UInt64) -> UInt64 { UInt64(truncatingIfNeeded: task) << 32 | step }
  }

  private struct State {
    var counts: [UInt64: UInt32] = [:]
    /// The keys of the choices in the schedule that is being run.
    var latest: [UInt64] = []
  }

  /// The maximum number of counts. If a schedule could exceed it, all counts are discarded, which limits the memory used by a long
  /// exploration.
  private static let capacity = 1 << 20

  private let state = Mutex(State())

  func counts(of events: [UInt64], after history: History, in context: Context) -> [UInt32] {
    state.withLock { state in events.map { state.counts[history.key(context, $0), default: 0] } }
  }

  func beginSchedule() { state.withLock { $0.latest = [] } }

  func didTake(_ event: UInt64, after history: History) {
    state.withLock { state in
      for context in Context.allCases { state.latest.append(history.key(context, event)) }
    }
  }

  func scheduleEnded() {
    state.withLock { state in
      if state.counts.count + state.latest.count > Self.capacity { state.counts = [:] }
      for key in state.latest { state.counts[key, default: 0] += 1 }
      state.latest = []
    }
  }
}
