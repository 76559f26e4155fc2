extension Run {
  /// Records an event of the run, if somebody observes it. Called under the lock (L2).
  @inline(__always)
  func record(
    _ step: @autoclosure () -> ProcedureEvent.Step, at instant: @autoclosure () -> ProcedureInstant,
    _ effects: inout QueueCore.Effects
  ) {
    guard core.broadcaster.isObserved || details?.log != nil, isReported, kind != .bareNode else { return }
    recordForced(step(), at: instant(), &effects)
  }

  /// Records an event, also one of a node, whose other events its graph reports.
  private func recordForced(
    _ step: @autoclosure () -> ProcedureEvent.Step, at instant: @autoclosure () -> ProcedureInstant,
    _ effects: inout QueueCore.Effects
  ) {
    let log = details?.log
    guard log != nil || core.broadcaster.isObserved else { return }
    let event = ProcedureEvent(of: subject(), at: stamp(instant()), step())
    var woken: [EventEffect] = []
    // A run that the queue has refused was never there: only its handle reports the end.
    if member >= 0 || attached >= 0 { core.broadcaster.send(event, &woken) }
    log?.append(event, &woken)
    for effect in woken { effects.add(.event(effect)) }
  }

  /// Records an event that not every run has, under the id of the reporting run.
  func report(_ step: ProcedureEvent.Step) {
    let run = reported
    let reading = run.core.time.reading()
    run.core.send { _, effects in
      guard run.outcome == nil else { return }
      if run.kind == .added { _ = run.madeLog }
      run.recordForced(step, at: reading.instant, &effects)
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
