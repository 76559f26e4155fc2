extension Run {
  /// Records an event of the run, if somebody observes it. Called under the lock (L2).
  @inline(__always)
  func record(
    _ event: @autoclosure () -> ProcedureEvent.Kind, at instant: @autoclosure () -> ProcedureInstant,
    _ effects: inout QueueCore.Effects
  ) {
    guard core.broadcaster.isObserved || details?.log != nil, isReported, kind != .bareNode else { return }
    recordForced(event(), at: instant(), &effects)
  }

  /// Records an event, also one of a node, whose other events its graph reports.
  private func recordForced(
    _ kind: @autoclosure () -> ProcedureEvent.Kind, at instant: @autoclosure () -> ProcedureInstant,
    _ effects: inout QueueCore.Effects
  ) {
    let log = details?.log
    guard log != nil || core.broadcaster.isObserved else { return }
    let event = ProcedureEvent(id: id, name: name, instant: stamp(instant()), kind: kind())
    var woken: [EventEffect] = []
    core.broadcaster.send(event, &woken)
    log?.append(event, &woken)
    for effect in woken { effects.add(.event(effect)) }
  }

  /// Records an event that not every run has, under the id of the reporting run.
  func report(_ kind: ProcedureEvent.Kind) {
    let run = reported
    let moment = run.core.time.moment()
    run.core.send { _, effects in
      guard run.outcome == nil else { return }
      if run.kind == .added { _ = run.madeLog }
      run.recordForced(kind, at: moment.instant, &effects)
    }
  }

  /// The events of the run, from the first. Each call subscribes anew.
  func events() -> AsyncStream<ProcedureEvent> {
    let (log, isOver) = core.withState { _ in (madeLog, outcome != nil) }
    if isOver { log.close() }
    return log.subscribe().stream { [name] in await ProcedureContext.lendingSlot(forEventOf: name, $0) }
  }

  /// The log of the run's events, made from what has happened so far. Called under the lock.
  private var madeLog: EventLog {
    if let log = details?.log { return log }
    let log = EventLog(past: pastEvents)
    madeDetails.log = log
    return log
  }

  /// How many of the first events, `didAttach`, `willExecute` and `didExecute`, have occurred. Called under the lock.
  var pastEventCount: Int {
    (attached >= 0 ? 1 : 0) + (started >= 0 ? 1 : 0) + (started >= 0 && ended >= 0 ? 1 : 0)
  }

  private var pastEvents: ContiguousArray<ProcedureEvent> {
    var past: ContiguousArray<ProcedureEvent> = []
    func add(_ kind: ProcedureEvent.Kind, at nanoseconds: Int64) {
      guard nanoseconds >= 0 else { return }
      past.append(
        ProcedureEvent(id: id, name: name, instant: ProcedureInstant(nanoseconds: nanoseconds), kind: kind))
    }
    add(.didAttach, at: attached)
    add(.willExecute(attempt: 1), at: started)
    if started >= 0 { add(.didExecute(attempt: 1), at: ended) }
    if let details, let cancel = details.cancel {
      past.insert(
        ProcedureEvent(
          id: id, name: name, instant: ProcedureInstant(nanoseconds: details.cancelInstant),
          kind: .didCancel(reason: cancel.reason)), at: min(details.eventsBeforeCancel, past.count))
    }
    guard let outcome else { return past }
    let latestInstant = max(ended, details?.cancelInstant ?? -1)
    add(.willFinish(outcome.withoutValue), at: latestInstant)
    add(.didFinish(outcome.withoutValue), at: latestInstant)
    return past
  }
}
