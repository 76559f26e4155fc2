import ExploredLocks

/// The order in which the strands of a schedule take locks under other locks.
///
/// A pure value: a graph with an edge from each held lock to each lock that is taken meanwhile. A circle of edges of
/// different strands is a possible deadlock, unless two of the strands hold a common lock, which keeps them apart
/// (Havelund, *Using Runtime Analysis to Guide Model Checking of Java Programs*, SPIN 2000).
struct LockOrder {
  /// A strand that takes a lock while holding another lock.
  struct Edge {
    var held: LockUse
    var taken: LockUse
    /// All locks that the strand holds.
    var guards: Set<LockIdentity>
  }

  private var edges: [LockIdentity: [Edge]] = [:]

  /// Notes that `taken` is taken by a strand that holds the locks `held`.
  ///
  /// - Returns: A circle through a new edge; `nil` if there is none.
  mutating func willLock(_ taken: LockUse, holding held: [LockUse]) -> [Edge]? {
    let guards = Set(held.map(\.lock))
    var circle: [Edge]?
    for outer in held {
      let known = edges[outer.lock, default: []].contains {
        $0.taken.lock == taken.lock && $0.taken.strand == taken.strand && $0.guards == guards
      }
      guard !known else { continue }
      let edge = Edge(held: outer, taken: taken, guards: guards)
      edges[outer.lock, default: []].append(edge)
      circle = circle ?? closing([edge])
    }
    return circle
  }

  /// Returns the circle that begins with the edges of `path`; `nil` if there is none.
  private func closing(_ path: [Edge]) -> [Edge]? {
    guard let first = path.first, let last = path.last else { return nil }
    if last.taken.lock == first.held.lock { return path }
    for next in edges[last.taken.lock, default: []] {
      let isApart = path.allSatisfy { $0.taken.strand != next.taken.strand && $0.guards.isDisjoint(with: next.guards) }
      if isApart, let circle = closing(path + [next]) { return circle }
    }
    return nil
  }
}
