import Synchronization

/// Internal. The shared executions of a queue, or of a ``CoalescingScope``: one run leads each, and the others follow.
///
/// An execution belongs to its key until the leader has a result, or until the leader was cancelled and no follower is left. A pause of the
/// leader changes nothing.
final class SharedWorkTable: Sendable {
  struct Key: Sendable {
    let key: InternedKey
    /// The name of the procedure; `nil` in a scope, which shares between procedures on purpose.
    let name: String?
    let output: ObjectIdentifier
  }

  /// A run that waits for the result of another one.
  final class Follower: Sendable {
    let run: Run
    let signal = OneShotSignal()

    init(_ run: Run) { self.run = run }
  }

  enum Role {
    case leads
    case follows(Follower, leader: Run)
  }

  /// The part of a follower whose wait was ended.
  enum Assignment {
    case leads
    case result(Result<any Sendable, any Error>)
  }

  fileprivate struct Execution {
    var leader: Run
    /// The highest priority of a follower, also of one that has left since.
    var priority: UInt8 = 0
    /// The followers in order; those before `first` were called.
    var followers: ContiguousArray<Follower> = []
    var first = 0
    /// How many of them have left.
    var leaverCount = 0
  }

  private struct State {
    var executions: [Key: Execution] = [:]
    var assignments: [ObjectIdentifier: Assignment] = [:]
  }

  private let state = Mutex(State())

  /// Joins the execution of a key, or leads a new one. A leader calls `finished` or `abandoned`. O(1).
  func join(_ key: Key, _ run: Run) -> Role {
    let priority = run.currentPriority
    return state.withLock { state in
      guard let leader = state.executions[key]?.leader else {
        state.executions[key] = Execution(leader: run)
        return .leads
      }
      let follower = Follower(run)
      state.executions[key]?.append(follower, priority)
      return .follows(follower, leader: leader)
    }
  }

  /// The leader has the result, which all followers share. O(n) for n followers.
  func finished(_ key: Key, _ result: Result<any Sendable, any Error>) {
    let execution = state.withLock { state in
      let execution = state.executions.removeValue(forKey: key)
      for follower in execution?.waiting ?? [] {
        state.assignments[ObjectIdentifier(follower)] = .result(result)
      }
      return execution
    }
    for follower in execution?.waiting ?? [] {
      if !follower.signal.signal() { _ = take(follower) }
    }
  }

  /// The leader was cancelled: the next follower leads, with the highest priority of all followers (Q7). Without one, the execution is over.
  func abandoned(_ key: Key) {
    while true {
      let (next, priority) = state.withLock { state -> (Follower?, UInt8) in
        guard let next = state.executions[key]?.popFirst() else {
          state.executions[key] = nil
          return (nil, 0)
        }
        state.executions[key]?.leader = next.run
        state.assignments[ObjectIdentifier(next)] = .leads
        return (next, state.executions[key]?.priority ?? 0)
      }
      guard let next else { return }
      // The others wait for the new leader, which looks for a deadlock when it waits itself.
      next.run.setAwaited()
      next.run.core.raise(next.run.slotOwner, to: priority)
      if next.signal.signal() { return }
      _ = take(next)
    }
  }

  /// Takes the part of a follower whose wait has ended by a call.
  func take(_ follower: Follower) -> Assignment? {
    state.withLock { $0.assignments.removeValue(forKey: ObjectIdentifier(follower)) }
  }

  /// A follower has left before it was called. Amortized O(1).
  func left(_ key: Key) {
    let former = state.withLock { state in state.executions[key]?.followerLeft() ?? [] }
    _ = former
  }

  /// The run that a follower waits for; `nil` if the follower was called.
  func leader(_ key: Key, of follower: Follower) -> Run? {
    state.withLock { state in
      follower.signal.isResolved || state.assignments[ObjectIdentifier(follower)] != nil
        ? nil : state.executions[key]?.leader
    }
  }

  /// The number of shared executions.
  var count: Int { state.withLock(\.executions.count) }
}

extension SharedWorkTable.Execution {
  fileprivate var waiting: ArraySlice<SharedWorkTable.Follower> { followers[first...] }

  fileprivate mutating func append(_ follower: SharedWorkTable.Follower, _ priority: UInt8) {
    followers.append(follower)
    self.priority = max(self.priority, priority)
  }

  fileprivate mutating func popFirst() -> SharedWorkTable.Follower? {
    guard first < followers.count else { return nil }
    first += 1
    return followers[first - 1]
  }

  /// Drops the followers that have left once they are the majority; returns the former list, to be released without the lock.
  fileprivate mutating func followerLeft() -> ContiguousArray<SharedWorkTable.Follower> {
    leaverCount += 1
    guard leaverCount > 32, leaverCount * 2 > followers.count - first else { return [] }
    let former = followers
    (followers, first, leaverCount) = (ContiguousArray(waiting.filter { !$0.signal.isResolved }), 0, 0)
    return former
  }
}

extension SharedWorkTable.Key: Hashable {
  /// Names are compared byte by byte: Swift's `==` treats two spellings of one letter as equal.
  static func == (one: Self, other: Self) -> Bool {
    one.key == other.key && one.output == other.output && (one.name == nil) == (other.name == nil)
      && (one.name ?? "").utf8.elementsEqual((other.name ?? "").utf8)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(output)
    for byte in (name ?? "").utf8 { hasher.combine(byte) }
  }
}

extension SharedWorkTable.Key: CustomStringConvertible {
  /// The execution, as people read it.
  var description: String { "the execution of \(key.value)" }
}

extension ProcedureTask {
  /// Executes the task once for all runs that request the key at the same time: the first leads, and the others wait for its result.
  static func coalesced(_ task: ProcedureTask, by key: InternedKey, in scope: CoalescingScope?) -> ProcedureTask {
    task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let run = context.run
      let table = scope?.executions ?? run.core.executions
      let key = SharedWorkTable.Key(
        key: key, name: scope == nil ? run.name : nil, output: ObjectIdentifier(Output.self))
      if let result = try await run.share(key, in: table) { return try result.get() as! Output }
      let result: Result<Output, any Error>
      do {
        result = .success(try await task.executeAsLayer(input))
      } catch {
        result = .failure(error)
      }
      // A cancelled leader has no result for others: the next run executes.
      if context.isCancelled { table.abandoned(key) } else { table.finished(key, result.map { $0 }) }
      return try result.get()
    }
  }
}

extension Run {
  /// Waits for the result of a shared execution; `nil` if this run has to execute.
  ///
  /// A run that waits holds neither its slot nor the resources of the procedure, as in a pause: the leader may need them after a pause of its
  /// own.
  fileprivate func share(
    _ key: SharedWorkTable.Key, in table: SharedWorkTable
  ) async throws -> Result<any Sendable, any Error>? {
    guard case .follows(let follower, let leader) = table.join(key, self) else { return nil }
    let signal = follower.signal
    if let error = deadlock(within: leader, { ExclusionWait(procedure: $0, key: key, holder: $1) }) {
      signal.cancel()
      table.left(key)
      throw error
    }
    leader.setAwaited()
    let layers = [self] + enclosingLayers
    giveBackResources(layers)
    let isCalled = await withSlotReleased(for: .execution(table, key, follower), at: signal) {
      leader.core.raise(leader.slotOwner, to: currentPriority)
      searchForDeadlock()
      return await wait(at: signal)
    }
    if let error = signal.refusal {
      table.left(key)
      throw error
    }
    guard isCalled else {
      table.left(key)
      throw inheritedReason ?? CancellationError()
    }
    let assignment = table.take(follower)
    let error = isCancelled ? inheritedReason ?? CancellationError() : await reclaim(layers)
    switch assignment {
    case .result(let result):
      if let error { throw error }
      return result
    case .leads, nil:
      guard let error else { return nil }
      table.abandoned(key)
      throw error
    }
  }
}
