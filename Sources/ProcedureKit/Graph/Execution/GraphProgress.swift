/// A state machine that decides, for one run of a graph, which node executes next, whether another worker is needed, and when the graph
/// ends.
///
/// If all priorities are equal, a worker that finishes a node continues with a successor that this node made ready, as reported by
/// ``GraphCountdown``. All other ready nodes wait in a queue, ordered by priority, then by rank, and then by the order in which they became
/// ready (Q8). While nodes are waiting, workers are added one at a time: each worker requests another worker when it starts.
struct GraphProgress {
  /// The next action of a worker, and its effects on the other workers.
  struct Advance: Equatable {
    /// The node that the worker executes next; -1 if there is none.
    var next: Int32 = -1
    /// Whether to add a worker.
    var addsWorker = false
    /// Whether the graph has ended, meaning that no node is executing and none will start.
    var isComplete = false
    /// Whether to cancel the executing nodes because the graph failed (D4).
    var cancelsWorkers = false
  }

  /// How a node ended, as far as its dependents are concerned.
  enum Ending: Equatable, Sendable {
    case succeeded
    case failed
    case ignored
  }

  private let countdown: GraphCountdown
  /// The ranks of the nodes; empty if they are not ordered by rank.
  private let ranks: ContiguousArray<Int32>
  private let limit: Int
  private let stopsAtFirstFailure: Bool
  private(set) var ready = ReadyQueue()
  /// The highest position assigned so far. Positions fit into 32 bits, and determine the order of ready nodes that have the same rank.
  private var latestPosition: UInt64 = 0
  /// The number of nodes that workers have taken but not finished. It does not change when a worker continues with a successor.
  private(set) var executing = 0
  private(set) var workerIsStarting = false

  /// Creates the progress of a run that executes at most `limit` nodes at a time. If `stopsAtFirstFailure` is `true`, the first failure
  /// that the graph does not accept stops the graph (D4).
  init(
    _ countdown: GraphCountdown, ranks: ContiguousArray<Int32> = [], limit: Int, stopsAtFirstFailure: Bool
  ) {
    self.ranks = ranks
    (self.countdown, self.limit, self.stopsAtFirstFailure) = (countdown, limit, stopsAtFirstFailure)
  }

  /// Returns whether ready nodes of equal priority are ordered by rank in a graph of `count` nodes (Q8). Their order affects how long the
  /// graph takes only if several nodes can execute at the same time, but not all of them.
  static func usesRanks(count: Int, limit: Int, width: Int) -> Bool {
    let executing = min(limit, width)
    return executing > 1 && executing < count
  }

  /// The limit, if it has been reached; otherwise `nil`.
  var reachedLimit: Int? { executing >= limit ? limit : nil }

  private var shape: GraphShape { countdown.shape }

  /// Whether the graph failed or was cancelled. If so, no further nodes start.
  var isStopping: Bool { countdown.values.isStopping }

  /// Whether no node is executing and none will start (C8). Only an executing node can make other nodes ready.
  var isComplete: Bool { executing == 0 && (ready.isEmpty || isStopping) }

  /// Makes the roots ready when the graph starts, and returns the first node for the caller's task.
  mutating func started() -> Advance {
    for root in shape.roots { insert(root) }
    return continuing(with: takeNext())
  }

  /// Puts a node back into the queue, ahead of the other nodes with the same rank, because the caller's task leaves it to the workers. This
  /// happens at most once.
  mutating func nodePutBack(_ node: Int32) {
    executing -= 1
    countdown.values.nodePutBack(node)
    insert(node, at: 0)
  }

  /// Records that a requested worker started, and returns a node for it.
  mutating func workerStarted() -> Advance {
    workerIsStarting = false
    return continuing(with: takeNext())
  }

  /// Records that a node succeeded, and returns the next node for its worker (Q8).
  ///
  /// If all priorities are equal and `released` is not empty, the worker continues with the node in `released` that has the lowest rank.
  /// The worker thus soon consumes the values that it produced. Otherwise, it continues with the first node in the queue of ready nodes.
  mutating func nodeSucceeded(releasing released: GraphCountdown.Released) -> Advance {
    let continuesAtOnce = released.first >= 0 && shape.priorities.isEmpty && !isStopping
    if continuesAtOnce {
      var next = released.first
      for node in released.others ?? [] {
        let comesFirst = rank(of: node) < rank(of: next)
        insert(comesFirst ? next : node)
        if comesFirst { next = node }
      }
      countdown.values.nodeTaken(next)
      return continuing(with: next)
    }
    executing -= 1
    insert(released)
    return continuing(with: takeNext())
  }

  /// Records that a node did not succeed, and returns the next node for its worker (D4).
  ///
  /// `released` contains the nodes that accept the failure and have no other unfinished dependencies. `isUnaccepted` is `true` if the graph
  /// does not accept the failure.
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

  /// Records that a worker will not execute the node that it took, because the graph is stopping.
  mutating func nodeAbandoned() -> Advance {
    precondition(isStopping, "GraphProgress: a node was abandoned, but the graph is not stopping")
    executing -= 1
    return continuing(with: -1)
  }

  /// Stops the graph after a cancellation, so no further nodes start (C8).
  mutating func cancelled() -> Advance {
    countdown.values.stop()
    return continuing(with: -1)
  }

  /// Returns the next node for a worker and requests another worker if ready nodes are waiting and the limit permits it.
  private mutating func continuing(with next: Int32) -> Advance {
    var advance = Advance(next: next, isComplete: isComplete)
    if !ready.isEmpty, !workerIsStarting, !isStopping, executing < limit {
      workerIsStarting = true
      advance.addsWorker = true
    }
    return advance
  }

  private mutating func insert(_ node: Int32) {
    latestPosition += 1
    insert(node, at: latestPosition)
  }

  /// Adds a ready node to the queue, ordered by its priority, its rank, and its position (Q8).
  private mutating func insert(_ node: Int32, at position: UInt64) {
    ready.insert(node, priority: shape.priority(of: node), order: UInt64(rank(of: node)) << 32 | position)
  }

  private func rank(of node: Int32) -> Int32 { ranks.isEmpty ? 0 : ranks[Int(node)] }

  private mutating func insert(_ released: GraphCountdown.Released) {
    if released.first >= 0 { insert(released.first) }
    for node in released.others ?? [] { insert(node) }
  }

  /// Takes the first ready node (Q8). Returns -1 if there is none, the limit has been reached, or the graph is stopping.
  private mutating func takeNext() -> Int32 {
    guard !isStopping, executing < limit, let node = ready.first() else { return -1 }
    ready.remove(node)
    countdown.values.nodeTaken(node)
    executing += 1
    return node
  }
}

/// An object that counts the unfinished dependencies of each node and finds the nodes that become ready when a node ends.
///
/// Workers use the countdown without a lock. If all priorities are equal and the success of a node makes exactly one successor ready, the
/// node's worker continues with that successor. ``GraphProgress`` schedules all other ready nodes. The counters themselves are stored in
/// ``GraphValues``.
final class GraphCountdown: Sendable {
  /// A node that is skipped because of how `cause` ended (D1).
  struct Skipped: Equatable {
    let node: Int32
    let cause: Int32
    let ending: GraphProgress.Ending
  }

  /// The nodes that became ready when a node ended.
  struct Released: Equatable {
    private(set) var first: Int32 = -1
    /// The nodes after the first one; `nil` rather than an empty array, to avoid reference counting.
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

  /// Decrements the counters of the dependents of a node that succeeded, and returns the nodes that become ready.
  func nodeSucceeded(_ node: Int32) -> Released {
    var released = Released()
    for position in shape.successorRange(of: node) {
      let target = shape.successors[position] >> 1
      if wasLastDependency(target) { released.append(target) }
    }
    return released
  }

  /// Returns the released node that the worker can execute without acquiring a lock (Q8); `nil` if ``GraphProgress`` has to choose a node.
  func successor(among released: Released) -> Int32? {
    guard released.first >= 0, released.others == nil, shape.priorities.isEmpty, !values.isStopping else { return nil }
    values.nodeTaken(released.first)
    return released.first
  }

  /// Skips the dependents of a node that did not succeed. The caller must record the errors of the skipped nodes, and then call
  /// `release(byStopping:_:)`.
  ///
  /// - Returns: All nodes that are skipped as a result. Each node comes after the node that caused it to be skipped.
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

  /// Returns the nodes that become ready because they accept the failure of a node, or of a node that was skipped because of that failure.
  func release(byStopping node: Int32, _ skipped: [Skipped]) -> Released {
    var released = Released()
    releaseAccepting(node, &released)
    for skip in skipped { releaseAccepting(skip.node, &released) }
    return released
  }

  /// Skips the dependents that require the success of a node (D1).
  private func skipDependents(of node: Int32, _ ending: GraphProgress.Ending, _ skipped: inout [Skipped]) {
    for position in shape.successorRange(of: node) where shape.successors[position] & 1 == 0 {
      let target = shape.successors[position] >> 1
      // The previous counter shows that no other dependency has skipped the node yet.
      if values.skip(target) <= shape.dependencyCounts[Int(target)] {
        skipped.append(Skipped(node: target, cause: node, ending: ending))
      }
    }
  }

  /// Decrements the counters of the dependents that accept the failure of a node, and appends the dependents that become ready.
  private func releaseAccepting(_ node: Int32, _ released: inout Released) {
    for position in shape.successorRange(of: node) where shape.successors[position] & 1 == 1 {
      let target = shape.successors[position] >> 1
      if wasLastDependency(target) { released.append(target) }
    }
  }

  /// Records that a dependency permits a node to execute. Returns whether the node has no other unfinished dependencies.
  private func wasLastDependency(_ target: Int32) -> Bool {
    shape.dependencyCounts[Int(target)] == 1 || values.dependencyEnded(of: target)
  }
}
