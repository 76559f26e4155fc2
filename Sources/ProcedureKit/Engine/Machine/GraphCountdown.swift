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
