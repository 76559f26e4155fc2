import Synchronization

/// A node that represents a run or a graph in the progress tree.
///
/// Nodes exist only for runs and graphs whose progress is reported or read, and for their enclosing runs. While a node holds its lock, it
/// calls only its broadcaster and, when a graph is added, the graph's new node, so only their locks are acquired after it.
///
/// The class is `package` because `ProcedureKitRemote` uses it.
package final class ProgressNode: Sendable {
  private struct State {
    var progress: ProgressState
    /// The run, which announces each percent; `nil` if the node represents a graph or the run has ended.
    var run: Run?
    /// The percentage that was most recently announced.
    var announced = -1
    var isAnnouncing = false
    /// The graphs that the run executes.
    var graphs: [ProcedureID: ProgressNode] = [:]
    /// For each node of a graph, whether its end has been counted.
    var counted: ContiguousArray<Bool>

    /// Returns the progress to announce; `nil` if there is none, or if another task is already announcing. That task checks for new
    /// progress afterwards.
    mutating func nextAnnouncement() -> (run: Run, progress: ProcedureProgress)? {
      guard let run, !isAnnouncing, progress.percent > announced else { return nil }
      (isAnnouncing, announced) = (true, progress.percent)
      return (run, progress.shown)
    }
  }

  /// The identity of this node in its parent: the ID of the run, or of the first node of the graph.
  let id: ProcedureID
  private let parent: ProgressNode?
  private let time: QueueClock
  private let state: Mutex<State>
  private let broadcaster = EventBroadcaster<ProcedureProgress>()

  /// Creates a node.
  ///
  /// - Parameters:
  ///   - id: The identity of the node in its parent.
  ///   - parent: The parent.
  ///   - progress: The initial progress.
  ///   - nodeCount: The number of nodes of a graph.
  ///   - time: The queue's clock.
  ///   - run: The run, which announces each percent; `nil` if the node represents a graph.
  init(
    _ id: ProcedureID, in parent: ProgressNode?, _ progress: ProgressState, nodeCount: Int = 0,
    time: QueueClock, run: Run? = nil
  ) {
    (self.id, self.parent, self.time) = (id, parent, time)
    let counted = ContiguousArray(repeating: false, count: nodeCount)
    state = Mutex(State(progress: progress, run: run, counted: counted))
  }

  var shown: ProcedureProgress { state.withLock { $0.progress.shown } }

  /// The published fraction; `nil` if the run or the graph has ended.
  package var fractionUnderWay: Double? { state.withLock { $0.progress.hasEnded ? nil : $0.progress.shown.fraction } }

  /// The published fraction; `nil` if the body has reported no progress, and no children or nodes contribute to the progress.
  var knownFraction: Double? { state.withLock { $0.progress.isKnown ? $0.progress.fraction : nil } }

  // MARK: Changes

  func bodyReported(_ fraction: Double, completed: Int? = nil, of total: Int? = nil) {
    change { $0.progress.bodyReported(fraction, completed: completed, of: total, at: time.instant(of: $1)) }
  }

  func childCame(_ id: ProcedureID, weight: Double) -> Bool {
    state.withLock { $0.progress.childCame(id, weight: weight) }
  }

  func childEnded(_ id: ProcedureID) { change { $0.progress.childEnded(id, at: time.instant(of: $1)) } }

  /// Records that a node of a graph reported progress.
  func nodeReported(_ node: Int, _ id: ProcedureID, weight: Double) {
    state.withLock { if !$0.counted[node] { _ = $0.progress.childCame(id, weight: weight) } }
  }

  /// Records that a node of a graph ended, regardless of its outcome. Calling this function again has no effect.
  func nodeEnded(_ node: Int, _ id: ProcedureID, weight: Double) {
    change { state, reading in
      guard !state.counted[node] else { return }
      state.counted[node] = true
      _ = state.progress.childCame(id, weight: weight)
      state.progress.childEnded(id, at: time.instant(of: reading))
    }
  }

  /// Records that the run ended.
  func ended(_ outcome: ProcedureOutcome<Void>) {
    let hasFinished = if case .finished = outcome { true } else { false }
    // The node may hold the last reference to the run, so the reference is released outside the lock.
    _ = state.withLock { $0.run.take() }
    change { state, _ in state.progress.ended(hasFinished: hasFinished) }
    broadcaster.close()
  }

  private func change(_ body: (inout State, QueueClock.Reading) -> Void) {
    let reading = time.lazyReading()
    var effects: [EventEffect] = []
    let (fraction, announcement) = state.withLock { state in
      let (version, previous) = (state.progress.version, state.progress.fraction)
      body(&state, reading)
      let fraction = state.progress.fraction
      // The progress is sent under the lock, so that all subscribers see it in the order of the changes.
      if state.progress.version != version, broadcaster.isObserved { broadcaster.send(state.progress.shown, &effects) }
      return (fraction == previous ? nil : fraction, state.nextAnnouncement())
    }
    for effect in effects { effect.perform() }
    announce(from: announcement)
    guard let fraction, let parent else { return }
    // `$1` is a reading of the parent's clock.
    parent.change { [id] in $0.progress.childAdvanced(id, to: fraction, at: parent.time.instant(of: $1)) }
  }

  /// Announces changes of the published progress in order, without holding a lock. If another task is already announcing changes, that task
  /// also announces this one.
  private func announce(from first: (run: Run, progress: ProcedureProgress)?) {
    var next = first
    while let (run, progress) = next {
      run.report(.progress(progress))
      next = state.withLock { state in
        state.isAnnouncing = false
        return state.nextAnnouncement()
      }
    }
  }

  // MARK: Graphs

  /// Returns the progress node of a graph that the run is executing, creating the node if necessary.
  func graph(_ id: ProcedureID, make: () -> ProgressNode) -> (part: ProgressNode, isNew: Bool) {
    state.withLock { state in
      if let part = state.graphs[id] { return (part, false) }
      let part = make()
      state.graphs[id] = part
      _ = state.progress.childCame(id, weight: part.weight)
      return (part, true)
    }
  }

  /// Records that a graph ended. If some nodes have not ended, the graph has failed and may be retried, so its progress is withdrawn.
  func graphEnded(_ id: ProcedureID) {
    guard let graph = state.withLock({ $0.graphs.removeValue(forKey: id) }) else { return }
    // A difference below a billionth is due to rounding.
    if graph.shown.fraction < 1 - 1e-9, graph.weight > 0 {
      state.withLock { $0.progress.childWithdrawn(id) }
    } else {
      childEnded(id)
    }
  }

  private var weight: Double { state.withLock { $0.progress.total } }

  /// Subscribes to the published progress: the current value, followed by the newest value after each change, until the node ends.
  func subscribe() -> EventSubscription<ProcedureProgress> {
    state.withLock { broadcaster.subscribe(replaying: [$0.progress.shown], limit: EventLimit(newest: 1)) }
  }
}

extension ProcedureProgress: BroadcastEvent {}

/// The progress of one run with its children, or of one graph with its nodes.
///
/// Once the body of a run reports progress, the body counts as a part with weight 1. Each child counts as a part with the child's weight.
/// The nodes of a graph are parts of the graph, and the graph's weight is the sum of their weights. The published progress never decreases.
struct ProgressState {
  private struct Child {
    let weight: Double
    var fraction = 0.0
  }

  /// The published progress without the remaining time. `shown` adds the remaining time, which keeps changing until the node ends.
  private var value = ProcedureProgress()
  private(set) var hasEnded = false
  /// The number of changes to the published progress.
  private(set) var version = 0
  /// The fraction that the body has reported, if any.
  private var reported: Double?
  /// The children that have not ended.
  private var children: [ProcedureID: Child] = [:]
  /// The sum of the children's weights. `done` is the completed part of this sum.
  private(set) var total: Double
  private var done = 0.0
  private var isFixed: Bool
  /// The instant and the fraction from which the speed is measured.
  private var beginning: (instant: ProcedureInstant, fraction: Double)?
  /// The time since the beginning, and the ratio of the remaining time to the elapsed time, as of the latest advance.
  private var pace: (elapsed: Duration, factor: Double)?

  /// Creates the progress of a run or a graph.
  ///
  /// - Parameters:
  ///   - total: The total weight of all children, if it is known. Otherwise, the weight of each child is added when the child appears.
  ///   - start: The instant at which the body started, if it is known.
  init(total: Double? = nil, start: ProcedureInstant? = nil) {
    self.total = total ?? 0
    isFixed = total != nil
    beginning = start.map { ($0, 0) }
  }

  /// The published progress.
  var shown: ProcedureProgress {
    var shown = value
    if let pace { shown.remaining = pace.elapsed.scaled(by: pace.factor) }
    return shown
  }

  /// The published fraction.
  var fraction: Double { value.fraction }

  /// Whether the body has reported progress, or any children contribute to the progress.
  var isKnown: Bool { reported != nil || total > 0 }

  /// The published fraction as a whole-number percentage.
  var percent: Int { value.percent }

  /// Records that the body reported a fraction, and possibly the corresponding units.
  mutating func bodyReported(
    _ fraction: Double, completed: Int? = nil, of total: Int? = nil, at now: @autoclosure () -> ProcedureInstant
  ) {
    guard !hasEnded, !fraction.isNaN else { return }
    let fraction = min(max(fraction, 0), 1)
    if fraction >= reported ?? 0, (completed, total) != (value.completedUnits, value.totalUnits) {
      (value.completedUnits, value.totalUnits) = (completed, total)
      version += 1
    }
    reported = max(reported ?? 0, fraction)
    show(at: now())
  }

  /// Records that a child appeared. Returns whether the child is new.
  mutating func childCame(_ id: ProcedureID, weight: Double) -> Bool {
    guard !hasEnded, children[id] == nil else { return false }
    children[id] = Child(weight: weight)
    if !isFixed { total += weight }
    return true
  }

  /// Records that the progress of a child changed.
  mutating func childAdvanced(_ id: ProcedureID, to fraction: Double, at now: @autoclosure () -> ProcedureInstant) {
    guard let index = children.index(forKey: id), fraction > children.values[index].fraction else { return }
    let child = children.values[index]
    children.values[index].fraction = fraction
    done += (fraction - child.fraction) * child.weight
    show(at: now())
  }

  /// Records that a child ended, regardless of its outcome. The child counts as completed.
  mutating func childEnded(_ id: ProcedureID, at now: @autoclosure () -> ProcedureInstant) {
    guard let child = children.removeValue(forKey: id) else { return }
    done += (1 - child.fraction) * child.weight
    show(at: now())
  }

  /// Withdraws the progress of a failed child that will be retried.
  mutating func childWithdrawn(_ id: ProcedureID) {
    guard let child = children.removeValue(forKey: id) else { return }
    done -= child.fraction * child.weight
    total -= child.weight
  }

  /// Ends the progress. If the run succeeded, the fraction becomes 1. Otherwise, it keeps its last value.
  mutating func ended(hasFinished: Bool) {
    guard !hasEnded else { return }
    hasEnded = true
    children = [:]
    if hasFinished { value.fraction = 1 }
    pace = nil
    value.remaining = hasFinished ? .zero : nil
    version += 1
  }

  private mutating func show(at now: @autoclosure () -> ProcedureInstant) {
    let whole = total + (reported == nil ? 0 : 1)
    let fraction = whole > 0 ? min(max(((reported ?? 0) + done) / whole, 0), 1) : 0
    guard !hasEnded, fraction > value.fraction else { return }
    value.fraction = fraction
    version += 1
    guard let beginning else {
      self.beginning = (now(), fraction)
      return
    }
    let speed = fraction - beginning.fraction
    if speed > 0 { pace = (beginning.instant.duration(to: now()), (1 - fraction) / speed) }
  }
}
