/// One run in the tree of progress, or one graph.
///
/// There is a part only where progress is reported or read, and then also for all runs around. A part calls nothing under its lock, which is taken last.
///
/// `package` for `ProcedureKitRemote`.
package final class ProgressNode: Sendable {
  private struct State {
    var progress: ProgressState
    /// The version that each reader has read.
    var versions: [ObjectIdentifier: Int] = [:]
    var readers: [(id: ObjectIdentifier, waiter: Waiter)] = []
    /// The percents that were announced last.
    var announced = -1
    var isAnnouncing = false
    /// The graphs that the run executes.
    var graphs: [ProcedureID: ProgressNode] = [:]
    /// For each node of a graph, whether it has been counted.
    var counted: ContiguousArray<Bool>
  }

  /// The identity in the part around: of the run, or of the first node of the graph.
  let id: ProcedureID
  private let parent: ProgressNode?
  private let now: @Sendable () -> ProcedureInstant
  private let announce: (@Sendable (ProcedureProgress) -> Void)?
  private let state: Locked<State>

  /// - Parameters:
  ///   - id: The identity in the part around.
  ///   - parent: The part around.
  ///   - progress: The beginning.
  ///   - nodeCount: The number of nodes of a graph.
  ///   - now: Reads the clock of the queue.
  ///   - announce: Called outside of all locks for each percent, by one task at a time.
  init(
    _ id: ProcedureID, in parent: ProgressNode?, _ progress: ProgressState, nodeCount: Int = 0,
    now: @escaping @Sendable () -> ProcedureInstant, announce: (@Sendable (ProcedureProgress) -> Void)? = nil
  ) {
    (self.id, self.parent, self.now, self.announce) = (id, parent, now, announce)
    state = Locked(State(progress: progress, counted: ContiguousArray(repeating: false, count: nodeCount)))
  }

  var shown: ProcedureProgress { state.withLock { $0.progress.shown } }

  /// The fraction that is shown; `nil` if the part has ended.
  package var fractionUnderWay: Double? { state.withLock { $0.progress.hasEnded ? nil : $0.progress.shown.fraction } }

  // MARK: Changes

  func bodyReported(_ fraction: Double, completed: Int? = nil, of total: Int? = nil) {
    change { $0.progress.bodyReported(fraction, completed: completed, of: total, at: $1) }
  }

  func childCame(_ id: ProcedureID, weight: Double) -> Bool {
    state.withLock { $0.progress.childCame(id, weight: weight) }
  }

  func childEnded(_ id: ProcedureID) { change { $0.progress.childEnded(id, at: $1) } }

  /// A node of a graph reports.
  func nodeCame(_ node: Int, _ id: ProcedureID, weight: Double) {
    state.withLock { if !$0.counted[node] { _ = $0.progress.childCame(id, weight: weight) } }
  }

  /// A node of a graph has ended, in whatever way. Calling this function again has no effect.
  func nodeEnded(_ node: Int, _ id: ProcedureID, weight: Double) {
    change { state, now in
      guard !state.counted[node] else { return }
      state.counted[node] = true
      _ = state.progress.childCame(id, weight: weight)
      state.progress.childEnded(id, at: now)
    }
  }

  func ended(hasFinished: Bool) { change { state, _ in state.progress.ended(hasFinished: hasFinished) } }

  private func change(_ body: (inout State, ProcedureInstant) -> Void) {
    let now = now()
    let (fraction, waiters) = state.withLock { state -> (Double?, [Waiter]) in
      let (version, former) = (state.progress.version, state.progress.shown.fraction)
      body(&state, now)
      let fraction = state.progress.shown.fraction
      let waiters = state.progress.version == version ? [] : state.readers.takeAll().map(\.waiter)
      return (fraction == former ? nil : fraction, waiters)
    }
    for waiter in waiters { waiter.resume() }
    if let announce { announceChanges(announce) }
    if let fraction { parent?.change { [id] in $0.progress.childAdvanced(id, to: fraction, at: $1) } }
  }

  /// Announces what is shown, in order: a task that comes while another one announces leaves that to the other.
  private func announceChanges(_ announce: @Sendable (ProcedureProgress) -> Void) {
    func next() -> ProcedureProgress? {
      state.withLock { state in
        let shown = state.progress.shown
        guard !state.isAnnouncing, !state.progress.hasEnded, shown.percent > state.announced else { return nil }
        (state.isAnnouncing, state.announced) = (true, shown.percent)
        return shown
      }
    }
    while let progress = next() {
      announce(progress)
      state.withLock { $0.isAnnouncing = false }
    }
  }

  // MARK: Graphs

  /// The part of a graph that the run executes, made if there is none.
  func graph(_ id: ProcedureID, make: () -> ProgressNode) -> (part: ProgressNode, isNew: Bool) {
    state.withLock { state in
      if let part = state.graphs[id] { return (part, false) }
      let part = make()
      state.graphs[id] = part
      _ = state.progress.childCame(id, weight: part.weight)
      return (part, true)
    }
  }

  /// A graph has ended. If nodes are left, the graph has failed, and may be tried again: nothing of it counts.
  func graphEnded(_ id: ProcedureID) {
    guard let graph = state.withLock({ $0.graphs.removeValue(forKey: id) }) else { return }
    // What is less than a billionth is due to rounding.
    if graph.shown.fraction < 1 - 1e-9, graph.weight > 0 {
      state.withLock { $0.progress.childWithdrawn(id) }
    } else {
      childEnded(id)
    }
  }

  func graph(_ id: ProcedureID) -> ProgressNode? { state.withLock { $0.graphs[id] } }

  private var weight: Double { state.withLock { $0.progress.total } }

  // MARK: Readers

  /// What is shown, if the reader has not read that.
  func take(for reader: ObjectIdentifier) -> ProcedureProgress? {
    state.withLock { state in
      guard state.versions[reader] != state.progress.version else { return nil }
      state.versions[reader] = state.progress.version
      return state.progress.shown
    }
  }

  /// Stores a waiter until something else is shown. `true` if there is something to read already; `nil` if nothing follows.
  func register(_ waiter: Waiter, for reader: ObjectIdentifier) -> Bool? {
    state.withLock { state in
      guard state.versions[reader] == state.progress.version else { return true }
      // Asked under the lock: a cancel that comes later finds the waiter among the readers.
      if state.progress.hasEnded || Task.isCancelled { return nil }
      state.readers.append((reader, waiter))
      return false
    }
  }

  func wake(_ reader: ObjectIdentifier) {
    let woken = state.withLock { state in
      let woken = state.readers.filter { $0.id == reader }
      state.readers.removeAll { $0.id == reader }
      return woken
    }
    for reader in woken { reader.waiter.resume() }
  }

  func remove(_ reader: ObjectIdentifier) { state.withLock { _ = $0.versions.removeValue(forKey: reader) } }
}

/// Decides how far a part is. A value: one run with what it has started, or one graph with its nodes.
///
/// The body of a run, once it has reported, is one part of weight 1, and each child is another one, of the child's weight. The nodes of a graph are
/// parts of the graph, whose weight is their sum. What is shown never goes back.
struct ProgressState {
  private struct Child {
    let weight: Double
    var fraction = 0.0
  }

  private(set) var shown = ProcedureProgress()
  private(set) var hasEnded = false
  /// Counts the changes of what is shown.
  private(set) var version = 0
  /// The fraction that the body has reported, if it has.
  private var reported: Double?
  /// The children that have not ended.
  private var children: [ProcedureID: Child] = [:]
  /// The sum of all weights, and the sum of what is done of them.
  private(set) var total: Double
  private var done = 0.0
  private var isFixed: Bool
  /// The instant and the fraction from which the speed is measured.
  private var beginning: (instant: ProcedureInstant, fraction: Double)?

  /// - Parameters:
  ///   - total: The weight of all children, if it is known; otherwise the weights of the children are added up as they come.
  ///   - start: The instant at which the body has started, if that is known.
  init(total: Double? = nil, start: ProcedureInstant? = nil) {
    self.total = total ?? 0
    isFixed = total != nil
    beginning = start.map { ($0, 0) }
  }

  /// The body has reported a fraction, and perhaps the units that it stands for.
  mutating func bodyReported(_ fraction: Double, completed: Int? = nil, of total: Int? = nil, at now: ProcedureInstant)
  {
    guard !hasEnded, !fraction.isNaN else { return }
    let fraction = min(max(fraction, 0), 1)
    if fraction >= reported ?? 0, (completed, total) != (shown.completedUnits, shown.totalUnits) {
      (shown.completedUnits, shown.totalUnits) = (completed, total)
      version += 1
    }
    reported = max(reported ?? 0, fraction)
    show(at: now)
  }

  /// A child has come. Returns whether the child is new.
  mutating func childCame(_ id: ProcedureID, weight: Double) -> Bool {
    guard !hasEnded, children[id] == nil else { return false }
    children[id] = Child(weight: weight)
    if !isFixed { total += weight }
    return true
  }

  /// A child is so far.
  mutating func childAdvanced(_ id: ProcedureID, to fraction: Double, at now: ProcedureInstant) {
    guard let child = children[id], fraction > child.fraction else { return }
    children[id]?.fraction = fraction
    done += (fraction - child.fraction) * child.weight
    show(at: now)
  }

  /// A child has ended, in whatever way, and counts as done.
  mutating func childEnded(_ id: ProcedureID, at now: ProcedureInstant) {
    guard let child = children.removeValue(forKey: id) else { return }
    done += (1 - child.fraction) * child.weight
    show(at: now)
  }

  /// A child has failed that is tried again: nothing of the child counts any more.
  mutating func childWithdrawn(_ id: ProcedureID) {
    guard let child = children.removeValue(forKey: id) else { return }
    done -= child.fraction * child.weight
    total -= child.weight
  }

  /// The run has ended.
  mutating func ended(hasFinished: Bool) {
    guard !hasEnded else { return }
    hasEnded = true
    children = [:]
    if hasFinished { shown.fraction = 1 }
    shown.remaining = hasFinished ? .zero : nil
    version += 1
  }

  private mutating func show(at now: ProcedureInstant) {
    let whole = total + (reported == nil ? 0 : 1)
    let fraction = whole > 0 ? min(max(((reported ?? 0) + done) / whole, 0), 1) : 0
    guard !hasEnded, fraction > shown.fraction else { return }
    shown.fraction = fraction
    version += 1
    guard let beginning else {
      self.beginning = (now, fraction)
      return
    }
    let speed = fraction - beginning.fraction
    if speed > 0 { shown.remaining = beginning.instant.duration(to: now).scaled(by: (1 - fraction) / speed) }
  }
}
