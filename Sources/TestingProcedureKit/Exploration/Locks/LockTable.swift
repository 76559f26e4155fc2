import ExploredLocks

/// The explored locks of one schedule, with their holders, the tasks that are waiting for them, and the order in which locks were acquired.
struct LockTable {
  /// The response to a task's request for a lock.
  enum Answer {
    case taken
    /// Another task holds the lock.
    case held
    /// The task would wait for itself, either directly or through other tasks.
    case deadlock(LockCycle)
  }

  private var holders: [LockIdentity: LockUse] = [:]
  /// The locks that are held, keyed by the worker thread that holds them. The outermost lock comes first.
  private var held: [ObjectIdentifier: [LockUse]] = [:]
  /// The waiting tasks in the order of their requests.
  private var waiting: [LockUse] = []
  private var order = LockOrder()
  /// The position of each lock in the order of first use. The position distinguishes locks that were created at the same location.
  private var known: [LockIdentity: Int] = [:]

  /// The first possible deadlock found, which is a cycle in the order in which tasks acquired locks; `nil` if there is none.
  private(set) var possibleDeadlock: LockCycle?

  /// Acquires a lock if it is free; otherwise adds the task to the waiting tasks.
  mutating func willLock(_ use: LockUse) -> Answer {
    if known[use.lock] == nil { known[use.lock] = known.count }
    let outer = held[ObjectIdentifier(use.worker), default: []]
    if !outer.isEmpty, let cycle = order.willLock(use, holding: outer), possibleDeadlock == nil, cycle.count > 1 {
      possibleDeadlock = LockCycle(members: cycle.map { member(holding: $0.held, taking: $0.taken) })
    }
    guard holders[use.lock] != nil else {
      take(use)
      return .taken
    }
    waiting.append(use)
    return cycle(from: use).map(Answer.deadlock) ?? .held
  }

  /// Acquires a lock unless it is already held.
  ///
  /// - Returns: Whether the lock was acquired.
  mutating func willLockIfAvailable(_ use: LockUse) -> Bool {
    if known[use.lock] == nil { known[use.lock] = known.count }
    guard holders[use.lock] == nil else { return false }
    take(use)
    return true
  }

  /// Releases a lock.
  ///
  /// - Returns: The tasks that were waiting for the lock, in order. They have to request the lock again.
  mutating func didUnlock(_ lock: LockIdentity) -> [LockUse] {
    guard let holder = holders.removeValue(forKey: lock) else { return [] }
    let worker = ObjectIdentifier(holder.worker)
    held[worker]?.removeAll { $0.lock == lock }
    if held[worker]?.isEmpty == true { held[worker] = nil }
    let waiters = waiting.filter { $0.lock == lock }
    waiting.removeAll { $0.lock == lock }
    return waiters
  }

  /// Removes and returns the waiting tasks.
  mutating func takeWaiting() -> [LockUse] {
    defer { waiting = [] }
    return waiting
  }

  /// Whether a waiting task's thread holds one of the runtime's locks.
  var isUrgent: Bool { waiting.contains { $0.point.isUnderLock } }

  /// Follows the chain of waits that starts with a request for `lock`, and returns the worker at its end.
  func lastHolder(of lock: LockIdentity) -> WorkerThread? {
    var holder = holders[lock]
    while let next = holder, let wait = waiting.first(where: { $0.worker === next.worker }) {
      holder = holders[wait.lock]
    }
    return holder?.worker
  }

  /// A description of each lock that is held, and of each task that is waiting for a lock, one per line.
  var lines: [String] {
    let holders = holders.values.sorted { known[$0.lock, default: 0] < known[$1.lock, default: 0] }
    return holders.map { "task \($0.task) holds the lock created at \(name(of: $0.lock)), acquired at \($0.location)" }
      + waiting.map { "task \($0.task) is waiting at \($0.location) for the lock created at \(name(of: $0.lock))" }
  }

  private mutating func take(_ use: LockUse) {
    holders[use.lock] = use
    held[ObjectIdentifier(use.worker), default: []].append(use)
  }

  /// Returns the cycle of waits that starts with `use`; `nil` if the chain of waits ends with a task that can continue.
  private func cycle(from use: LockUse) -> LockCycle? {
    var path = [use]
    while let request = path.last, let holder = holders[request.lock] {
      if holder.worker === use.worker {
        let holds = [holder] + path.dropLast().compactMap { holders[$0.lock] }
        return LockCycle(members: zip(holds, path).map { member(holding: $0, taking: $1) })
      }
      guard let next = waiting.first(where: { $0.worker === holder.worker }) else { return nil }
      path.append(next)
    }
    return nil
  }

  private func member(holding held: LockUse, taking taken: LockUse) -> LockCycle.Member {
    LockCycle.Member(
      task: taken.task, held: name(of: held.lock), heldSince: "\(held.location)", taken: name(of: taken.lock),
      takenAt: "\(taken.location)")
  }

  /// Returns the location where the lock was created, with a number if several locks were created there.
  func name(of lock: LockIdentity) -> String {
    let location = "\(lock.location)"
    let same = known.filter { $0.key.location.line == lock.location.line && "\($0.key.location)" == location }
    guard same.count > 1, let index = known[lock] else { return location }
    return "\(location) (number \(same.values.count { $0 <= index }))"
  }
}

/// A lock that a task holds or requests.
struct LockUse {
  var lock: LockIdentity
  /// The worker on which the task runs. The worker identifies the holder, because a held lock belongs to a thread.
  var worker: WorkerThread
  var task: Int
  /// The location in the code at which the lock is acquired.
  var location: CodeLocation
  var point: OperationPoint
}

/// The point at which a task acquires a lock or performs an atomic operation.
struct OperationPoint {
  var thread: Platform.Thread
  /// The stack depth of the operation.
  var depth: UInt = 0
  /// Whether operations at this stack depth happen while the runtime holds a lock. The explorer makes no choice at such operations. A task
  /// that is waiting at this point must continue as soon as possible, because other tasks may be waiting for that lock.
  var isUnderLock = false
}

/// The order in which the tasks of a schedule acquire locks while they hold other locks.
///
/// The order is a graph with an edge from each lock to every lock that is acquired while the first one is held. A cycle whose edges belong
/// to different tasks is a possible deadlock, unless two of the tasks hold a common lock. A common lock prevents them from acquiring the
/// other locks simultaneously (Havelund, *Using Runtime Analysis to Guide Model Checking of Java Programs*, SPIN 2000).
struct LockOrder {
  /// An edge of the graph, for a task that acquires a lock while it holds another lock.
  struct Edge {
    var held: LockUse
    var taken: LockUse
    /// All locks that the task holds.
    var guards: Set<LockIdentity>
  }

  private var edges: [LockIdentity: [Edge]] = [:]

  /// Records that a task is acquiring the lock `taken` while it holds the locks `held`.
  ///
  /// - Returns: A cycle that contains a new edge, if there is one; otherwise `nil`.
  mutating func willLock(_ taken: LockUse, holding held: [LockUse]) -> [Edge]? {
    let guards = Set(held.map(\.lock))
    var cycle: [Edge]?
    for outer in held {
      let known = edges[outer.lock, default: []].contains {
        $0.taken.lock == taken.lock && $0.taken.task == taken.task && $0.guards == guards
      }
      guard !known else { continue }
      let edge = Edge(held: outer, taken: taken, guards: guards)
      edges[outer.lock, default: []].append(edge)
      cycle = cycle ?? closing([edge])
    }
    return cycle
  }

  /// Returns a cycle that begins with the edges of `path`, if there is one; otherwise `nil`.
  private func closing(_ path: [Edge]) -> [Edge]? {
    guard let first = path.first, let last = path.last else { return nil }
    if last.taken.lock == first.held.lock { return path }
    for next in edges[last.taken.lock, default: []] {
      let isApart = path.allSatisfy { $0.taken.task != next.taken.task && $0.guards.isDisjoint(with: next.guards) }
      if isApart, let cycle = closing(path + [next]) { return cycle }
    }
    return nil
  }
}

/// A cycle of tasks, each of which holds an explored lock and requests the lock held by the next task.
public struct LockCycle: Hashable, Sendable, CustomStringConvertible {
  /// A task that holds a lock and requests another lock.
  public struct Member: Hashable, Sendable, CustomStringConvertible {
    /// The number of the task; see `ExplorationFailure.order` for how tasks are numbered.
    public var task: Int

    /// The location where the held lock was created. Locks that were created at the same location are numbered.
    public var held: String

    /// The location where the held lock was acquired.
    public var heldSince: String

    /// The location where the requested lock was created. Locks that were created at the same location are numbered.
    public var taken: String

    /// The location of the request.
    public var takenAt: String

    /// A description of the task, the locks and the locations.
    public var description: String {
      "task \(task) holds the lock created at \(held) (acquired at \(heldSince)), and requests the lock created at \(taken) (requested at \(takenAt))"
    }
  }

  /// The tasks in cycle order. If there is only one, the task requests a lock that it already holds.
  public var members: [Member]

  /// A description of the tasks, the locks and the locations.
  public var description: String {
    members.map(\.description).joined(separator: "; ")
  }
}
