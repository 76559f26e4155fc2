/// Internal. Decides how one run of a graph goes on: which node is next, who may start, when it is over.
///
/// A worker that finishes a node goes straight on with a successor that became ready, which a ``GraphCountdown`` tells; what
/// else is ready stands in a list, in the order in which it became ready. One more worker is ordered only while something
/// stands there, one at a time: each that starts orders the next.
struct GraphProgress {
  /// What a worker does next, and what follows besides.
  struct Advance: Equatable {
    /// The node to execute, -1 if there is none for this worker.
    var next: Int32 = -1
    /// Whether to make one more worker.
    var addsWorker = false
    /// Whether the run is over: nothing executes and nothing will start.
    var isComplete = false
    /// Whether what executes is to be cancelled, because the graph has failed.
    var cancelsWorkers = false
  }

  /// How a node came to an end, as far as what follows depends on it.
  enum Ending: Equatable, Sendable {
    case succeeded
    case failed
    case ignored
  }

  private let countdown: GraphCountdown
  private let limit: Int
  private let stopsAtFirstFailure: Bool
  private(set) var ready = ReadyQueue()
  /// The orders of the earliest and the latest node that became ready.
  private var orders: (first: UInt64, last: UInt64) = (1 << 32, 1 << 32)
  /// How many nodes workers have taken. A worker that goes straight on with a successor has one all the time.
  private(set) var executing = 0
  private(set) var workerIsStarting = false

  /// At most `limit` nodes execute at once. A failure that no node accepts ends the run if `stopsAtFirstFailure`.
  init(_ countdown: GraphCountdown, limit: Int, stopsAtFirstFailure: Bool) {
    (self.countdown, self.limit, self.stopsAtFirstFailure) = (countdown, limit, stopsAtFirstFailure)
  }

  /// The limit, if as many nodes execute as may.
  var reachedLimit: Int? { executing >= limit ? limit : nil }

  private var shape: GraphShape { countdown.shape }

  /// Whether nothing more starts, because the graph failed or was cancelled.
  var isStopping: Bool { countdown.isStopping }

  /// Whether nothing executes and nothing will start: what waits is released only by what executes.
  var isComplete: Bool { executing == 0 && (ready.isEmpty || isStopping) }

  /// The run begins in the caller's task, which executes nodes itself as long as no second worker is asked for.
  mutating func started() -> Advance {
    for root in shape.roots { insert(root) }
    return continuing(with: takeNext())
  }

  /// A worker that had taken a node does not execute it yet: it is the first again of those that are ready.
  mutating func nodePutBack(_ node: Int32) {
    executing -= 1
    countdown.values.nodePutBack(node)
    orders.first -= 1
    ready.insert(node, priority: shape.priority(of: node), order: orders.first)
  }

  /// A worker that executes nothing asks for a node.
  mutating func workerAsked() -> Advance {
    continuing(with: takeNext())
  }

  /// A worker that had been ordered has started.
  mutating func workerStarted() -> Advance {
    workerIsStarting = false
    return continuing(with: takeNext())
  }

  /// A worker has finished a node that succeeded, and asks for the next: for one that it has released, if it may choose.
  mutating func nodeSucceeded(releasing released: GraphCountdown.Released) -> Advance {
    let continuesAtOnce = released.first >= 0 && shape.priorities.isEmpty && !isStopping
    if continuesAtOnce {
      for node in released.others ?? [] { insert(node) }
      countdown.values.nodeTaken(released.first)
      return continuing(with: released.first)
    }
    executing -= 1
    insert(released)
    return continuing(with: takeNext())
  }

  /// A worker has finished a node that did not succeed, and asks for the next (D4).
  /// `released` are the nodes that accept its failure, and wait for nothing else. Also returns whether the failure leaves the graph.
  mutating func nodeStopped(
    _ node: Int32, _ ending: Ending, releasing released: GraphCountdown.Released
  ) -> (advance: Advance, isUnaccepted: Bool) {
    executing -= 1
    let isUnaccepted = ending == .failed && !shape.acceptsFailure(of: node)
    insert(released)
    let cancelsWorkers = isUnaccepted && stopsAtFirstFailure && !isStopping
    if cancelsWorkers { countdown.values.stop() }
    var advance = continuing(with: takeNext())
    advance.cancelsWorkers = cancelsWorkers
    return (advance, isUnaccepted)
  }

  /// A worker had taken a node, and does not execute it because nothing is to start any more.
  mutating func nodeAbandoned() -> Advance {
    precondition(isStopping, "GraphProgress: a node was abandoned, but the graph is not stopping")
    executing -= 1
    return continuing(with: -1)
  }

  /// The run was cancelled: nothing more starts.
  mutating func cancelled() -> Advance {
    countdown.values.stop()
    return continuing(with: -1)
  }

  private mutating func continuing(with next: Int32) -> Advance {
    var advance = Advance(next: next, isComplete: isComplete)
    if !ready.isEmpty, !workerIsStarting, !isStopping, executing < limit {
      workerIsStarting = true
      advance.addsWorker = true
    }
    return advance
  }

  private mutating func insert(_ node: Int32) {
    orders.last += 1
    ready.insert(node, priority: shape.priority(of: node), order: orders.last)
  }

  private mutating func insert(_ released: GraphCountdown.Released) {
    if released.first >= 0 { insert(released.first) }
    for node in released.others ?? [] { insert(node) }
  }

  private mutating func takeNext() -> Int32 {
    guard !isStopping, executing < limit, let node = ready.first() else { return -1 }
    ready.remove(node)
    countdown.values.nodeTaken(node)
    executing += 1
    return node
  }
}

/// Internal. What the nodes of one run of a graph still wait for, and which nodes an ended node releases.
///
/// Workers use the countdown without a lock: a worker whose node releases one successor goes straight on with the successor.
/// ``GraphProgress`` decides about everything else that becomes ready. The counters lie in ``GraphValues``.
final class GraphCountdown: Sendable {
  /// A node that will not be executed, because of how `cause` ended.
  struct Skipped: Equatable {
    let node: Int32
    let cause: Int32
    let ending: GraphProgress.Ending
  }

  /// The nodes that have become ready because of one.
  struct Released: Equatable {
    private(set) var first: Int32 = -1
    /// `nil` if there are none, which spares the reference counting of an empty array.
    private(set) var others: ContiguousArray<Int32>?

    fileprivate mutating func append(_ node: Int32) {
      if first < 0 { first = node } else if others?.append(node) == nil { others = [node] }
    }
  }

  let shape: GraphShape
  let values: GraphValues

  init(_ shape: GraphShape, _ values: GraphValues) {
    self.shape = shape
    self.values = values
  }

  /// Whether nothing more starts, because the graph failed or was cancelled.
  var isStopping: Bool { values.isStopping }

  /// A node has succeeded.
  func nodeSucceeded(_ node: Int32) -> Released {
    var released = Released()
    for position in shape.successorRange(of: node) {
      let target = shape.successors[position] >> 1
      if settlesLast(target) { released.append(target) }
    }
    return released
  }

  /// The node with which a worker may go straight on after one that has released these: the only one, where nothing else is
  /// to be decided. `nil` if ``GraphProgress`` has to be asked.
  func successor(among released: Released) -> Int32? {
    guard released.first >= 0, released.others == nil, shape.priorities.isEmpty, !isStopping else { return nil }
    values.nodeTaken(released.first)
    return released.first
  }

  /// A node has not succeeded. `release(byStopping:_:)` has to follow, once the errors of all that are skipped are known.
  ///
  /// - Returns: Every node that is not executed because of it, causes before effects.
  func nodeStopped(_ node: Int32, _ ending: GraphProgress.Ending) -> [Skipped] {
    var skipped: [Skipped] = []
    skipDependents(of: node, ending, &skipped)
    var position = 0
    while position < skipped.count {
      skipDependents(of: skipped[position].node, ending, &skipped)
      position += 1
    }
    return skipped
  }

  /// Releases what accepts the failure of a node, and of those that are skipped because of it.
  func release(byStopping node: Int32, _ skipped: [Skipped]) -> Released {
    var released = Released()
    releaseAccepting(node, &released)
    for skip in skipped { releaseAccepting(skip.node, &released) }
    return released
  }

  private func skipDependents(of node: Int32, _ ending: GraphProgress.Ending, _ skipped: inout [Skipped]) {
    for position in shape.successorRange(of: node) where shape.successors[position] & 1 == 0 {
      let target = shape.successors[position] >> 1
      if values.skip(target) <= shape.dependencyCounts[Int(target)] {
        skipped.append(Skipped(node: target, cause: node, ending: ending))
      }
    }
  }

  private func releaseAccepting(_ node: Int32, _ released: inout Released) {
    for position in shape.successorRange(of: node) where shape.successors[position] & 1 == 1 {
      let target = shape.successors[position] >> 1
      if settlesLast(target) { released.append(target) }
    }
  }

  /// One of the dependencies of a node has settled, and does not keep it from being executed. Says whether it was the last.
  private func settlesLast(_ target: Int32) -> Bool {
    shape.dependencyCounts[Int(target)] == 1 || values.dependencySettled(of: target)
  }
}
