extension Run {
  /// The events of the run, from the first. Each call subscribes anew.
  func events() -> AsyncStream<ProcedureEvent> {
    let (log, isOver) = core.withState { _ in (madeLog, outcome != nil) }
    if isOver { log.close() }
    return log.subscribe().stream { await ProcedureContext.waitingForEvent(of: self, $0) }
  }

  /// The log of the run's events, made from what has happened so far. Called under the lock.
  var madeLog: EventLog {
    if let log = details?.log { return log }
    let log = EventLog(past: pastEvents)
    madeDetails.log = log
    setLogged()
    return log
  }

  private var pastEvents: ContiguousArray<ProcedureEvent> {
    var past: ContiguousArray<ProcedureEvent> = []
    func add(_ step: ProcedureEvent.Step, at nanoseconds: Int64, index: Int? = nil) {
      guard nanoseconds >= 0 else { return }
      let index = min(index ?? past.count, past.count)
      let attempt = past[..<index].contains { $0.attempt > 0 } ? 1 : 0
      past.insert(
        ProcedureEvent(of: subject(attempt), at: ProcedureInstant(nanoseconds: nanoseconds), step), at: index)
    }
    add(
      .didAttach(after: details?.dependencies.map(\.identity.id) ?? [], elementOf: level.traits.collection),
      at: attached)
    add(.willExecute(attempt: 1), at: started)
    if started >= 0 { add(.didExecute(attempt: 1), at: ended) }
    if let details, let cancel = details.cancel {
      add(.didCancel(reason: cancel.reason), at: details.cancelInstant, index: details.eventsBeforeCancel)
    }
    guard let outcome else { return past }
    let latestInstant = max(ended, details?.cancelInstant ?? -1)
    add(.willFinish(outcome.withoutValue), at: latestInstant)
    add(.didFinish(outcome.withoutValue, metricsUnderLock), at: latestInstant)
    return past
  }
}
