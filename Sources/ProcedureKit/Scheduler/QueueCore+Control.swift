import Synchronization

extension QueueCore {
  // MARK: The queue as a whole

  /// Suspends the queue: waiting runs release their claims, and no run starts (Q2, R2).
  func suspend() {
    send { state, effects in
      for member in state.machine.suspended() { state.runs[member]?.releaseHeldClaim(&effects) }
      gate.store(true, ordering: .releasing)
    }
  }

  /// Resumes the queue (Q2).
  func resume() {
    send { state, effects in resumed(&state, &effects) }
  }

  /// Advances the runs that the suspended queue held, and signals the graph workers that are waiting for the queue to be resumed.
  func resumed(_ state: inout State, _ effects: inout Effects) {
    state.machine.resumed(&effects.next)
    gate.store(false, ordering: .releasing)
    effects.send(state.resumption.takeAll())
  }

  /// Waits while the queue is suspended, so that an executing graph starts no further nodes (Q2). Returns immediately if the run is
  /// cancelled.
  func waitWhileSuspended(_ run: Run) async {
    while gate.load(ordering: .acquiring), !run.isCancelledOrStopping {
      let signal = OneShotSignal()
      // The queue may have been resumed since the gate was read, so the state is checked again under the lock.
      let isSuspended = send { state, _ in
        guard state.machine.isSuspended else { return false }
        state.resumption.append(signal)
        return true
      }
      guard isSuspended else { return }
      _ = await run.withSlotReleased { await run.wait(at: signal) }
    }
  }

  /// Whether the queue is suspended. Reading this property does not take the lock.
  var isGated: Bool { gate.load(ordering: .relaxed) }

  /// Resumes a suspended queue when the `ProcedureQueue` is deallocated, and lets the event streams end with the last run (Q4).
  func release() {
    send { state, effects in
      state.isReleased = true
      resumed(&state, &effects)
      Self.wakeIfIdle(&state, &effects)
    }
  }

  /// Subscribes to the events of the queue. A body releases its slot while it waits for an event (Q3).
  func events(bufferingNewest newest: Int) -> AsyncStream<ProcedureEvent> {
    broadcaster.subscribe(limit: eventLimit(newest: newest)).stream { [name] in
      await ProcedureContext.withSlotReleased(waitingFor: name, $0)
    }
  }
  func eventLimit(newest: Int) -> EventLimit<ProcedureEvent> {
    EventLimit(newest: newest) { [name] in .gap($0, before: $1, on: name) }
  }
  func changeWidth(to width: Int) { send { state, effects in state.machine.widthChanged(to: width, &effects.next) } }
  var width: Int { read { $0.machine.width } }
  var isSuspended: Bool { read { $0.machine.isSuspended } }

  /// Cancels all runs, except those within a shield, in one critical section, so that ending one run does not let another start.
  func cancelAll(_ reason: (any Error)?, includesLater: Bool = false) {
    cancelRuns(includesLater: includesLater) { run, _ in
      run.cancellationScope.isShielded ? nil : RunDetails.Cancellation(reason: reason)
    }
  }

  /// Cancels, in one critical section, the runs for which `choose` returns a cancellation. `choose` is called under the lock.
  ///
  /// - Parameters:
  ///   - includesLater: Whether to also cancel every run that is admitted later, unless the run is within a shield.
  ///   - isForShutdown: Whether to record the cancelled runs, including those that are admitted later, for the reports that all calls to
  ///     `shutDown` return.
  ///   - choose: A function that returns the cancellation of a run; `nil` for a run that is not cancelled.
  /// - Returns: The runs for which this cancellation is the first one and precedes the outcome.
  @discardableResult
  func cancelRuns(
    includesLater: Bool = false, isForShutdown: Bool = false,
    _ choose: (Run, QueueMachine.Member) -> RunDetails.Cancellation?
  ) -> [CancelledRun] {
    let reading = time.reading()
    return send { state, effects in
      if includesLater { state.cancelsAdmitted = true }
      var cancelled: [CancelledRun] = []
      for member in state.machine.present {
        let entry = state.machine[member]
        guard let run = state.runs[member], run.isReported, let cancellation = choose(run, entry) else { continue }
        guard run.mark(cancellation.reason, at: reading, &state, &effects) else { continue }
        if let record = CancelledRun(run, state) { cancelled.append(record) }
      }
      if isForShutdown { state.cancelledByShutdown = (state.cancelledByShutdown ?? []) + cancelled }
      return cancelled
    }
  }

  /// Refuses new runs, and lets the existing runs finish, even if the queue was suspended (Q4).
  func shutDown() {
    send { state, effects in
      state.isShutDown = true
      resumed(&state, &effects)
      // The callers that are waiting for room continue, and the queue refuses their runs.
      for caller in state.limiter.takeAllCallers(state.machine) { effects.add(.giveRoom(caller)) }
      Self.wakeIfIdle(&state, &effects)
    }
  }

  /// Waits until the queue has no runs.
  ///
  /// When called in a body on this queue, it waits only until every other run is also waiting for the queue to become idle (Q4).
  func waitUntilIdle() async {
    let bodies = ProcedureContext.current?.run.nearestUnfinished?.ancestors.filter { $0.core === self } ?? []
    let signal = OneShotSignal()
    let previousEnd = send { state, effects in
      for body in bodies { state.machine.idleWaitStarted(state.runs[body].member) }
      if bodies.isEmpty { state.emptyWaiters.append(signal) } else { state.idleWaiters.append(signal) }
      Self.wakeIfIdle(&state, &effects)
      return state.latestEnd
    }
    if !signal.isResolved {
      await ProcedureContext.waiting(for: .idle(self), at: signal) { await signal.waitUntilResolved() }
      let end = read { $0.latestEnd }
      if let end, end.id != previousEnd?.id { ProcedureContext.current?.run.nearestUnfinished?.didAwait(end) }
    }
    send { state, _ in
      for body in bodies { state.machine.idleWaitEnded(state.runs[body].member) }
    }
  }

  /// If the queue is idle, signals the tasks that are waiting for it to become idle, and ends the event streams after the last run (Q4).
  @inline(__always)
  static func wakeIfIdle(_ state: inout State, _ effects: inout Effects) {
    if state.isReleased || state.isShutDown, state.machine.count == 0 { effects.add(.endEvents) }
    if !state.emptyWaiters.isEmpty, state.machine.count == 0 { effects.send(state.emptyWaiters.takeAll()) }
    if !state.idleWaiters.isEmpty, state.machine.isIdle { effects.send(state.idleWaiters.takeAll()) }
  }

  /// Returns the runs that `run` awaits while it is waiting for this queue to become idle. The deadlock search uses this function (R4).
  func runs(awaitedBy run: Run) -> [Run] {
    let isInside = run.ancestors.contains { $0.core === self }
    return read { state in
      var runs: [Run] = []
      for member in state.machine.present {
        let entry = state.machine[member]
        // A body on this queue does not wait for other bodies that are waiting for the queue to become idle.
        if entry.isNested || (isInside && entry.idleWaits > 0) { continue }
        if let run = state.runs[member] { runs.append(run) }
      }
      return runs
    }
  }

  // MARK: Failures

  var failures: [ProcedureFailure] { read { $0.failures } }

  /// Ends the scope that owns the queue and returns the collected failures. The scope does not collect later failures.
  func endScope() -> [ProcedureFailure] {
    send { state, _ in
      state.isScopeOver = true
      return state.failures
    }
  }

  /// Collects the failure of an added run for the scope of the queue and cancels all runs if the scope fails fast.
  @inline(__always)
  func ended(_ run: Run, _ outcome: RunOutcome, _ state: inout State, _ effects: inout Effects) {
    if !state.ends.isEmpty { addEnd(of: run, outcome.withoutValue, &state, &effects) }
    guard case .failed(let error)? = outcome.failure, run.isAddedByUser,
      let scopePolicy, !state.isScopeOver
    else { return }
    run.setObserved()
    // The scope has already collected the failure of the dependency, unless the dependency is on another queue.
    if (error as? ProcedureError)?.kind == .dependencyFailed, !state.runs[run].details.dependencies.failsFromOutside {
      return
    }
    if scopePolicy == .failFast { effects.add(.cancelAll) }
    state.failures.append(ProcedureFailure(procedure: run.identity, error: error))
  }

  /// Reports an unobserved failure to the handler of the queue, or to the log.
  func reportUnobservedFailure(_ failure: ProcedureFailure) {
    if let handler = configuration.onUnobservedFailure { handler(failure) } else { logUnobserved(failure) }
  }

  // MARK: Priority

  /// Returns the unfinished run with the given id; `nil` if this queue has no such run.
  ///
  /// Layers and attempts are skipped, because they report under the id of their run.
  func unfinishedRun(_ id: ProcedureID) -> Run? {
    read { state in
      for member in state.machine.present {
        if let run = state.runs[member], run.isReported, run.id == id { return run }
      }
      return nil
    }
  }

  /// Changes the priority of a run that is waiting to start. Returns `false` if its body is executing or if the run has ended.
  func setPriority(_ priority: UInt8, of run: Run) -> Bool {
    let isRaised = send { state, _ -> Bool? in
      let member = state.runs[run].member
      guard state.machine.phase(of: member).awaitsStart else { return nil }
      // `raise` also raises the runs that this run is waiting for.
      guard state.machine[member].priority >= priority else { return true }
      state.machine.priorityChanged(member, to: priority)
      return false
    }
    if isRaised == true { raise(run, to: priority) }
    return isRaised != nil
  }

  /// Raises the priority of a run and of the runs that it is waiting for: dependencies, children, and holders of the claimed resources
  /// (Q7).
  func raise(_ run: Run, to priority: UInt8) {
    let (isClaiming, dependencies, children) = send { state, _ -> (Bool, [any ProcedureDependency], [Run]) in
      let member = state.runs[run].member
      guard member >= 0, state.machine.raised(member, to: priority) else { return (false, [], []) }
      return (
        state.machine[member].phase == .claiming, state.runs[run].details.dependencies.handles,
        state.runs[run].details.children.byID.inOrder
      )
    }
    if isClaiming { resources.raise(run, to: priority) }
    guard !(dependencies.isEmpty && children.isEmpty) else { return }
    Trampoline.call {
      for other in dependencies.map(\.asRunDependency.dependencyRun) + children {
        other.core.raise(other, to: priority)
      }
    }
  }
}

extension Run {
  /// The priority, in the ready queue, of the run whose slot this run uses.
  var currentPriority: UInt8 {
    let owner = slotOwner
    return owner.core.read { owner.priority($0) }
  }

  /// Returns the priority in the ready queue; 0 for a run that is not in the machine.
  func priority(_ state: borrowing QueueCore.State) -> UInt8 {
    let member = state.runs[self].member
    return member >= 0 ? state.machine[member].priority : 0
  }
}
