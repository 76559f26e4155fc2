import Synchronization

/// A table of the executions that are shared by the runs of a queue or of a ``CoalescingScope``.
///
/// The run that executes the work is the *leader*, and the runs that wait for its result are *followers*.
///
/// A shared execution ends when the leader has a result, or when the leader is cancelled and has no followers. It does not end when the
/// leader pauses.
final class SharedWorkTable: Sendable {
  struct Key: Hashable, Sendable {
    let key: InternedKey
    /// The name of the procedure; `nil` in a scope, where procedures with different names share executions.
    let name: ByteText?
    let output: ObjectIdentifier
  }

  /// A run that is waiting for the result of the leader.
  final class Follower: Sendable {
    let run: Run
    let signal = OneShotSignal()

    init(_ run: Run) { self.run = run }
  }

  /// What a follower receives when its wait ends: the role of leader, or a result.
  enum Assignment {
    case leads
    /// The result of the leader.
    case result(Result<any Sendable, any Error>, of: Run)
  }

  fileprivate struct Execution {
    var leader: Run
    /// The highest priority that any follower has had, including followers that have stopped waiting.
    var priority: UInt8 = 0
    /// The followers that have not become leaders, in the order in which they joined.
    var followers = Deque<Follower>()
    /// The number of followers that have stopped waiting but are still in the list.
    var leaverCount = 0
  }

  private struct State {
    var executions: [Key: Execution] = [:]
    var assignments: [ObjectIdentifier: Assignment] = [:]
  }

  private let state = Mutex(State())

  /// Joins the execution for a key, and returns the follower to wait for and the leader. If there is no such execution, the run becomes the
  /// leader of a new one, and the result is `nil`. A leader must call `finished` or `abandoned`.
  ///
  /// - Complexity: O(1).
  func join(_ key: Key, _ run: Run) -> (follower: Follower, leader: Run)? {
    let priority = run.currentPriority
    return state.withLock { state in
      guard let leader = state.executions[key]?.leader else {
        state.executions[key] = Execution(leader: run)
        return nil
      }
      let follower = Follower(run)
      state.executions[key]?.append(follower, priority)
      return (follower, leader)
    }
  }

  /// Ends an execution and gives the leader's result to all followers.
  ///
  /// - Complexity: O(n) for n followers.
  func finished(_ key: Key, _ result: Result<any Sendable, any Error>) {
    let execution = state.withLock { state in
      let execution = state.executions.removeValue(forKey: key)
      for follower in execution?.followers.all ?? [] {
        state.assignments[ObjectIdentifier(follower)] = execution.map { .result(result, of: $0.leader) }
      }
      return execution
    }
    for follower in execution?.followers.all ?? [] {
      // The follower has already been cancelled, so it does not take its assignment.
      if !follower.signal.signal() { _ = take(follower) }
    }
  }

  /// Makes the next follower the leader after the leader is cancelled (C6), or ends the execution if there is no follower.
  ///
  /// The new leader receives the highest priority of all followers (Q7).
  func abandoned(_ key: Key) {
    while true {
      let (next, priority, ended) = state.withLock { state -> (Follower?, UInt8, Execution?) in
        guard let next = state.executions[key]?.followers.popFirst() else {
          return (nil, 0, state.executions.removeValue(forKey: key))
        }
        state.executions[key]?.leader = next.run
        state.assignments[ObjectIdentifier(next)] = .leads
        return (next, state.executions[key]?.priority ?? 0, nil)
      }
      // The followers that have left are released here, after the lock is released.
      _ = ended
      guard let next else { return }
      // The other followers are now waiting for the new leader, which searches for a deadlock if it starts to wait itself (R4).
      next.run.setAwaited()
      next.run.core.raise(next.run.slotOwner, to: priority)
      if next.signal.signal() { return }
      // The follower has already been cancelled, so another follower must lead.
      _ = take(next)
    }
  }

  /// Removes and returns the assignment of a follower, if there is one.
  func take(_ follower: Follower) -> Assignment? {
    state.withLock { $0.assignments.removeValue(forKey: ObjectIdentifier(follower)) }
  }

  /// Records that a follower was cancelled or refused before it was signalled.
  ///
  /// - Complexity: Amortized O(1).
  func left(_ key: Key) {
    _ = state.withLock { state in state.executions[key]?.followerLeft() }
  }

  /// Returns the run that a follower is waiting for; `nil` if the follower is no longer waiting.
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
  fileprivate mutating func append(_ follower: SharedWorkTable.Follower, _ priority: UInt8) {
    followers.append(follower)
    self.priority = max(self.priority, priority)
  }

  /// Records that a follower has stopped waiting.
  ///
  /// If most of the followers in the list have stopped waiting, removes these followers and returns the previous list. The caller must
  /// release the returned list after it releases the lock.
  fileprivate mutating func followerLeft() -> Deque<SharedWorkTable.Follower>? {
    leaverCount += 1
    guard leaverCount > 32, leaverCount * 2 > followers.count else { return nil }
    let previous = followers
    followers.filter { !$0.signal.isResolved }
    leaverCount = 0
    return previous
  }
}

extension SharedWorkTable.Key: CustomStringConvertible {
  /// The name of the execution as it appears in messages.
  var description: String { "the execution of \(key.value)" }
}

extension ProcedureTask {
  /// Returns a task that executes `task` once for all concurrent runs that request the same key. The first run executes `task`, and the
  /// other runs wait for the result.
  static func coalesced(_ task: ProcedureTask, by key: InternedKey, in scope: CoalescingScope?) -> ProcedureTask {
    task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let run = context.run
      let table = scope?.executions ?? run.core.executions
      let key = SharedWorkTable.Key(
        key: key, name: scope == nil ? ByteText(run.name) : nil, output: ObjectIdentifier(Output.self))
      if let result = try await run.share(key, in: table) { return try result.get() as! Output }
      let result = await Result(awaiting: { () async throws in try await task.executeAsLayer(input) })
      // A cancelled leader has no result to share, so the next follower executes the task (C6).
      if context.isCancelled { table.abandoned(key) } else { table.finished(key, result.map { $0 }) }
      return try result.get()
    }
  }
}

extension Run {
  /// Waits for the result of a shared execution. Returns `nil` if this run must execute the work itself.
  ///
  /// As in a pause, a waiting run holds neither its slot nor the resources of its procedure (Q3, R2). A leader that has paused may need
  /// them to continue.
  fileprivate func share(
    _ key: SharedWorkTable.Key, in table: SharedWorkTable
  ) async throws -> Result<any Sendable, any Error>? {
    guard let (follower, leader) = table.join(key, self) else { return nil }
    let signal = follower.signal
    if let error = deadlock(within: leader, { ExclusionWait(procedure: $0, key: key, holder: $1) }) {
      signal.cancel()
      table.left(key)
      throw error
    }
    leader.setAwaited()
    let layers = [self] + enclosingLayers
    releaseResources(layers)
    let isSignalled = await withSlotReleased(for: .execution(table, key, follower), at: signal) {
      leader.core.raise(leader.slotOwner, to: currentPriority)
      searchForDeadlock()
      return await wait(at: signal)
    }
    let refusal = signal.refusal
    guard isSignalled, refusal == nil else {
      table.left(key)
      throw refusal ?? cancellationError
    }
    let assignment = table.take(follower)
    let error = isCancelled ? cancellationError : await reclaim(layers)
    switch assignment {
    case .result(let result, let leader):
      if let error { throw error }
      didAwait(leader.identity)
      return result
    case .leads, nil:
      guard let error else { return nil }
      // This run was chosen to lead, but it cannot, so the next follower leads.
      table.abandoned(key)
      throw error
    }
  }
}
