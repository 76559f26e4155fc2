/// Functions that wait until a queue has no runs, or shut a queue down (Q4).
extension QueueCore {
  /// Resumes a suspended queue when the `ProcedureQueue` is deallocated, and lets the event streams end with the last run (Q4).
  func release() {
    send { state, effects in
      state.isReleased = true
      resumed(&state, &effects)
      Self.wakeIfIdle(&state, &effects)
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
  /// If the caller is a body on this queue, the function waits only until every other run is also waiting for the queue to become idle
  /// (Q4).
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

  /// If the queue is idle, signals the bodies on the queue that are waiting for it to become idle. If the queue has no runs, also signals
  /// all other tasks that are waiting for it to become idle. If, in addition, the queue was shut down or released, ends the event streams
  /// (Q4).
  @inline(__always)
  static func wakeIfIdle(_ state: inout State, _ effects: inout Effects) {
    if state.isReleased || state.isShutDown, state.machine.count == 0 { effects.add(.endEvents) }
    if !state.emptyWaiters.isEmpty, state.machine.count == 0 { effects.send(state.emptyWaiters.takeAll()) }
    if !state.idleWaiters.isEmpty, state.machine.isIdle { effects.send(state.idleWaiters.takeAll()) }
  }

  /// Returns the runs that `run` awaits while it is waiting for this queue to become idle. The deadlock search uses this function (R4).
  func runs(awaitedBy run: Run) -> [Run] {
    let isInside = isAround(run)
    // A body on this queue does not wait for other bodies that are waiting for the queue to become idle.
    return read { $0.unfinishedRuns { _, entry in !entry.isNested && !(isInside && entry.idleWaits > 0) } }
  }
}
