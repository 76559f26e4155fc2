import Synchronization

extension QueueCore {
  /// Suspends the queue: waiting runs release their claims, and no run starts. Nested runs are not affected (Q2, R2).
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
  /// - Returns: The runs that this call cancelled. Runs that had already been cancelled, or whose outcome had been decided, are not
  ///   included.
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
}
