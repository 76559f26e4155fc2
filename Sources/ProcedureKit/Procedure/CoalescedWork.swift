extension ProcedureTask {
  /// Executes the task once for all runs that request the key at the same time: the first leads, and the others wait for its result.
  static func coalesced(_ task: ProcedureTask, by key: InternedKey, in scope: CoalescingScope?) -> ProcedureTask {
    task.wrapped { (input: Input) in
      let context = ProcedureContext.ofBody(task.name)
      let run = context.run
      let table = scope?.executions ?? run.core.executions
      let key = SharedWorkTable.Key(
        key: key, name: scope == nil ? run.name : nil, output: ObjectIdentifier(Output.self))
      if let result = try await run.share(key, in: table) { return try result.get() as! Output }
      let result: Result<Output, any Error>
      do {
        result = .success(try await task.executeAsLevel(input))
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
    let wakeup = follower.wakeup
    if let error = deadlock(within: leader, { ExclusionWait(procedure: $0, key: key, holder: $1) }) {
      wakeup.leave()
      table.left(key)
      throw error
    }
    leader.setAwaited()
    let levels = [self] + enclosingLevels
    giveBackResources(levels)
    let isCalled = await withSlotReleased(for: .execution(table, key, follower), at: wakeup) {
      leader.core.raise(leader.slotOwner, to: currentPriority)
      searchForDeadlock()
      return await wait(at: wakeup)
    }
    if let error = wakeup.refusal {
      table.left(key)
      throw error
    }
    guard isCalled else {
      table.left(key)
      throw inheritedReason ?? CancellationError()
    }
    let assignment = table.take(follower)
    let error = isCancelled ? inheritedReason ?? CancellationError() : await reclaim(levels)
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
