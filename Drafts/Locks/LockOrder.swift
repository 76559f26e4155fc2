/// The order in which a schedule takes locks under other locks.
///
/// A pure value: a graph with an edge from each held lock to each lock taken under it. A cycle of the graph is a
/// possible deadlock.
struct LockOrder {
  /// The held locks, the outermost first.
  private(set) var held: [LockIdentity] = []
  private var successors: [LockIdentity: [LockIdentity]] = [:]

  /// Takes a lock.
  ///
  /// - Returns: A cycle through the new edges, beginning with `lock`; `nil` if there is none, or if the edges are known.
  mutating func willLock(_ lock: LockIdentity) -> [LockIdentity]? {
    defer { held.append(lock) }
    var cycle: [LockIdentity]?
    for outer in held where !successors[outer, default: []].contains(lock) {
      successors[outer, default: []].append(lock)
      cycle = cycle ?? path(from: lock, to: outer)
    }
    return cycle
  }

  /// Gives back a lock.
  mutating func didUnlock(_ lock: LockIdentity) {
    if let index = held.lastIndex(of: lock) { held.remove(at: index) }
  }

  private func path(from start: LockIdentity, to end: LockIdentity) -> [LockIdentity]? {
    var open = [[start]]
    var visited: Set = [start]
    while let path = open.popLast(), let last = path.last {
      if last == end { return path }
      for next in successors[last, default: []] where visited.insert(next).inserted { open.append(path + [next]) }
    }
    return nil
  }
}
