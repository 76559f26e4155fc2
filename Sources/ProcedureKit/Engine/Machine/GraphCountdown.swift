import Synchronization

/// Internal. What the nodes of one run of a graph still wait for, and which of them one that has ended releases.
///
/// It is the part of a run's progress that workers change without a lock: a worker whose node releases one successor goes
/// straight on with it, and nobody else need know. Whatever else becomes ready is the business of ``GraphProgress``.
///
/// Invariant: `missing` holds one counter for each node, from `init` to `deinit`. Whoever ends a node takes one from the
/// counter of each successor, once, after what the node has written; who takes the last one sees what all have written, and
/// is the only one to release the successor. A node that waits for nothing but one other needs no counter.
final class GraphCountdown: @unchecked Sendable {
  /// A node that will not be executed, because of what `cause` came to.
  struct Skipped: Equatable {
    let node: Int32
    let cause: Int32
    let ending: GraphProgress.Ending
  }

  /// The nodes that have become ready because of one.
  struct Released: Equatable {
    private(set) var first: Int32 = -1
    private(set) var others: ContiguousArray<Int32> = []

    fileprivate mutating func append(_ node: Int32) {
      if first < 0 { first = node } else { others.append(node) }
    }
  }

  let shape: GraphShape
  /// For each node, how many of its dependencies have not settled; `skippedMark` or a little less once it is skipped.
  private let missing: UnsafeMutablePointer<Atomic<Int32>>
  private let stopping = Atomic(false)
  private let walked = StepCount()

  private static let skippedMark = Int32.max

  init(_ shape: GraphShape) {
    self.shape = shape
    missing = .allocate(capacity: shape.count)
    for node in 0..<shape.count { (missing + node).initialize(to: Atomic(shape.dependencyCounts[node])) }
  }

  deinit {
    missing.deinitialize(count: shape.count)
    missing.deallocate()
  }

  /// How many edges have been walked; counted in debug builds only.
  var steps: Int { walked.total }

  /// Whether nothing more starts, because the graph failed or was cancelled.
  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  /// Nothing more starts.
  func stop() { stopping.store(true, ordering: .releasing) }

  /// A node has succeeded.
  func nodeSucceeded(_ node: Int32) -> Released {
    var released = Released()
    for place in shape.successorRange(of: node) {
      walked.note()
      let target = shape.successors[place] >> 1
      if settlesLast(target) { released.append(target) }
    }
    return released
  }

  /// The node with which a worker may go straight on after one that has released these: the only one, where nothing else is
  /// to be decided. `nil` if ``GraphProgress`` has to be asked.
  func successor(among released: Released) -> Int32? {
    guard released.first >= 0, released.others.isEmpty, shape.priorities.isEmpty, !isStopping else { return nil }
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
    for place in shape.successorRange(of: node) where shape.successors[place] & 1 == 0 {
      walked.note()
      let target = shape.successors[place] >> 1
      let left = missing[Int(target)].exchange(Self.skippedMark, ordering: .acquiringAndReleasing)
      if left <= shape.dependencyCounts[Int(target)] {
        skipped.append(Skipped(node: target, cause: node, ending: ending))
      }
    }
  }

  private func releaseAccepting(_ node: Int32, _ released: inout Released) {
    for place in shape.successorRange(of: node) where shape.successors[place] & 1 == 1 {
      walked.note()
      let target = shape.successors[place] >> 1
      if settlesLast(target) { released.append(target) }
    }
  }

  /// One of the dependencies of a node has settled, and does not keep it from being executed. Says whether it was the last.
  private func settlesLast(_ target: Int32) -> Bool {
    shape.dependencyCounts[Int(target)] == 1
      || missing[Int(target)].subtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Traps where a run that was not stopped has ended before all of its nodes; called in debug builds.
  func checkAllSettled() {
    for node in 0..<shape.count where shape.dependencyCounts[node] > 1 {
      let left = missing[node].load(ordering: .relaxed)
      precondition(left == 0 || left > shape.dependencyCounts[node], "GraphCountdown: node \(node) was forgotten")
    }
  }
}
