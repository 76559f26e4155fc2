extension Run {
  /// Records an event of the run, if somebody observes it. Called under the lock (L2).
  @inline(__always)
  func record(
    _ step: @autoclosure () -> ProcedureEvent.Step, at instant: @autoclosure () -> ProcedureInstant,
    _ effects: inout QueueCore.Effects
  ) {
    guard core.broadcaster.isObserved || details?.log != nil, isReported, kind != .bareNode else { return }
    recordForced(step(), at: instant(), in: details?.log, &effects)
  }

  /// Records an event, also one of a node, whose other events its graph reports.
  private func recordForced(
    _ step: @autoclosure () -> ProcedureEvent.Step, at instant: @autoclosure () -> ProcedureInstant,
    in log: EventLog?, _ effects: inout QueueCore.Effects
  ) {
    guard log != nil || core.broadcaster.isObserved else { return }
    let event = ProcedureEvent(of: subject(), at: stamp(instant()), step())
    var woken: [EventEffect] = []
    // A run that the queue has refused was never there: only its handle reports the end.
    if member >= 0 || attached >= 0 { core.broadcaster.send(event, &woken) }
    log?.append(event, &woken)
    for effect in woken { effects.add(.event(effect)) }
  }

  /// A wait of the body for another run has ended. Costs one atomic load without subscribers, and the lock if the run has a log all the same: since
  /// it was subscribed to before, has produced, retried or reported progress. Those who subscribe later do not receive the event, since a body
  /// may wait any number of times.
  func didAwait(_ awaited: ProcedureIdentity) {
    let run = reported
    guard run.core.broadcaster.isObserved || run.hasLog, run.id != awaited.id else { return }
    let reading = run.core.time.reading()
    run.core.send { state, effects in
      guard run.outcome == nil else { return }
      let log = run.details?.log.flatMap { $0.isRead ? $0 : nil }
      let slotWait = state.machine.meters?.slotWait(of: slotOwner.member) ?? -1
      run.recordForced(
        .didAwait(awaited, slot: slotNumber(state), slotWait: slotWait), at: reading.instant, in: log, &effects)
    }
  }

  /// Records an event that not every run has, under the id of the reporting run.
  func report(_ step: ProcedureEvent.Step) {
    let run = reported
    let reading = run.core.time.reading()
    run.core.send { _, effects in
      guard run.outcome == nil else { return }
      if run.kind == .added { _ = run.madeLog }
      run.recordForced(step, at: reading.instant, in: run.details?.log, &effects)
    }
  }

  /// How many of the first events, `didAttach`, `willExecute` and `didExecute`, have occurred. Called under the lock.
  var pastEventCount: Int {
    (attached >= 0 ? 1 : 0) + (started >= 0 ? 1 : 0) + (started >= 0 && ended >= 0 ? 1 : 0)
  }

  /// The run as the subject of an event. The latest attempt has not started while the run pauses before it. Called under the lock.
  func subject(_ attempt: Int? = nil) -> ProcedureEvent.Subject {
    let latest = details?.latestAttempt ?? 1
    return ProcedureEvent.Subject(
      id: id, name: name, attempt: attempt ?? (hasStarted ? latest : 0), parent: parent?.reported.id,
      isNode: kind == .node || kind == .bareNode)
  }
}
