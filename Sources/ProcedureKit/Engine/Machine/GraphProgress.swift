/// Internal. Decides how one run of a graph goes on: which node is next, who may start, when it is over.
///
/// A pure value. A worker that finishes a node goes straight on with a successor that became ready; what else is ready
/// stands in a list, in the order in which it became ready. One more worker is ordered only while something stands there,
/// one at a time: each that starts orders the next.
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

  /// A node that was not executed, because of what `cause` came to.
  struct Skipped: Equatable {
    let node: Int32
    let cause: Int32
    let ending: Ending
  }

  private let shape: GraphShape
  private let limit: Int
  private let stopsAtFirstFailure: Bool
  /// For each node, how many of its dependencies have not settled; `skippedMark` or a little less once it is skipped.
  private var missing: ContiguousArray<Int32>
  private var ready = ReadyList()
  private var readySequence: UInt64 = 0
  private(set) var unsettled: Int
  private(set) var executing = 0
  private(set) var workerIsStarting = false
  /// Whether nothing more starts, because the graph failed or was cancelled.
  private(set) var isStopping = false

  private static let skippedMark = Int32.max

  /// - Parameters:
  ///   - shape: Who depends on whom.
  ///   - limit: How many nodes may execute at once.
  ///   - stopsAtFirstFailure: Whether a failure that nobody accepts ends the run.
  init(shape: GraphShape, limit: Int, stopsAtFirstFailure: Bool) {
    self.shape = shape
    self.limit = limit
    self.stopsAtFirstFailure = stopsAtFirstFailure
    missing = shape.dependencyCounts
    unsettled = shape.count
  }

  /// Whether nothing executes and nothing will start.
  var isComplete: Bool { unsettled == 0 || (isStopping && executing == 0) }

  /// The run begins in the caller's task, which executes nodes itself as long as no second worker is asked for.
  mutating func started() -> Advance {
    for root in shape.roots { insert(root) }
    return continuing(with: takeNext())
  }

  /// A worker that had taken a node does not execute it yet: it is the first again of those that are ready.
  mutating func nodePutBack(_ node: Int32) {
    executing -= 1
    ready.insert(node, priority: priority(of: node), order: 0)
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

  /// A worker has finished a node that succeeded, and asks for the next.
  mutating func nodeSucceeded(_ node: Int32) -> Advance {
    executing -= 1
    unsettled -= 1
    var next: Int32 = -1
    let takesSuccessor = shape.priorities.isEmpty && !isStopping
    for place in shape.successorRange(of: node) {
      let target = shape.successors[place] >> 1
      missing[Int(target)] -= 1
      guard missing[Int(target)] == 0 else { continue }
      if takesSuccessor, next < 0 { next = target } else { insert(target) }
    }
    if next >= 0 { executing += 1 } else { next = takeNext() }
    return continuing(with: next)
  }

  /// A worker has finished a node that did not succeed, and asks for the next.
  ///
  /// - Parameters:
  ///   - node: The node.
  ///   - ending: How it ended.
  ///   - skipped: Receives every node that is not executed because of it, causes before effects.
  /// - Returns: What follows, and whether it is a failure that is not accepted wherever it goes.
  mutating func nodeStopped(
    _ node: Int32, _ ending: Ending, skipped: inout [Skipped]
  ) -> (advance: Advance, isUnaccepted: Bool) {
    executing -= 1
    let isUnaccepted = ending == .failed && !shape.acceptsFailure(of: node)
    var position = skipped.count
    settle(node, ending, &skipped)
    while position < skipped.count {
      settle(skipped[position].node, ending, &skipped)
      position += 1
    }
    var cancelsWorkers = false
    if isUnaccepted, stopsAtFirstFailure, !isStopping {
      isStopping = true
      cancelsWorkers = true
    }
    var advance = continuing(with: takeNext())
    advance.cancelsWorkers = cancelsWorkers
    return (advance, isUnaccepted)
  }

  /// Tells the successors of one node that it did not succeed.
  private mutating func settle(_ node: Int32, _ ending: Ending, _ skipped: inout [Skipped]) {
    unsettled -= 1
    for place in shape.successorRange(of: node) {
      let target = shape.successors[place] >> 1
      guard missing[Int(target)] <= shape.dependencyCounts[Int(target)] else { continue }
      if shape.successors[place] & 1 == 0 {
        missing[Int(target)] = Self.skippedMark
        skipped.append(Skipped(node: target, cause: node, ending: ending))
      } else {
        missing[Int(target)] -= 1
        if missing[Int(target)] == 0 { insert(target) }
      }
    }
  }

  /// A worker has evaluated a node's conditions, which are satisfied, and asks for the next: for the same node again, or,
  /// where priorities differ, for whatever comes first by now.
  mutating func nodeJudged(_ node: Int32) -> Advance {
    if shape.priorities.isEmpty, !isStopping { return continuing(with: node) }
    executing -= 1
    insert(node)
    return continuing(with: takeNext())
  }

  /// A worker had taken a node, and does not execute it because nothing is to start any more.
  mutating func nodeAbandoned() -> Advance {
    precondition(isStopping, "GraphProgress: a node was abandoned while the run goes on")
    executing -= 1
    return continuing(with: -1)
  }

  /// The run was cancelled: nothing more starts.
  mutating func cancelled() -> Advance {
    isStopping = true
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

  private func priority(of node: Int32) -> UInt8 {
    shape.priorities.isEmpty ? 0 : shape.priorities[Int(node)]
  }

  private mutating func insert(_ node: Int32) {
    readySequence += 1
    ready.insert(node, priority: priority(of: node), order: readySequence)
  }

  private mutating func takeNext() -> Int32 {
    guard !isStopping, executing < limit, let node = ready.popFirst() else { return -1 }
    executing += 1
    return node
  }
}
