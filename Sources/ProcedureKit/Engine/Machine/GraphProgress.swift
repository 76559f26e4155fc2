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
    let goesOn = released.first >= 0 && shape.priorities.isEmpty && !isStopping
    if goesOn {
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
    precondition(isStopping, "GraphProgress: a node was abandoned while the run goes on")
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
