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
      if run.kind == .added { _ = run.ensureEventLog() }
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

extension Run {
  /// The events of the run, from the first. Each call subscribes anew.
  func events() -> AsyncStream<ProcedureEvent> {
    let (log, isOver) = core.withState { _ in (ensureEventLog(), outcome != nil) }
    if isOver { log.close() }
    return log.subscribe().stream { await ProcedureContext.waitingForEvent(of: self, $0) }
  }

  /// The log of the run's events, made from what has happened so far. Called under the lock.
  func ensureEventLog() -> EventLog {
    if let log = details?.log { return log }
    let log = EventLog(past: pastEvents)
    ensureDetails().log = log
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
      .didAttach(after: details?.dependencies.map(\.identity.id) ?? [], elementOf: layer.traits.collection),
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

extension Run {
  /// The log of the run, with its identity.
  var log: ProcedureLog {
    core.log.from { [self] in
      let run = reported
      return core.logFacts(of: identity, attempt: Int(attempt), parent: run.parent?.reported.id)
    }
  }

  /// The names of procedures that were retried without a delay and without a limit.
  private static let endlessRetries = Locked<Set<ByteText>>([])

  /// Warns of retries without a delay and without a limit: once for each name, and for 1,000 names at most.
  func warnOfEndlessRetries() {
    let name = reported.name
    let isNew = Self.endlessRetries.withLock { $0.count < 1_000 && $0.insert(ByteText(name)).inserted }
    guard isNew else { return }
    log.warning(
      "\(name.quoted) is retried without a delay and without a limit: give the retry maxAttempts, a budget, or a schedule with delays"
    )
  }

  /// Tells that a child has failed, and that the run stops for this reason.
  func logStop(by child: Run, _ outcome: ProcedureOutcome<Void>) {
    guard case .failed(let error) = outcome else { return }
    log.info("the child \(child.identity) has failed, and stops its parent: \(error)")
  }
}

extension GraphRun {
  /// Tells that a node has failed, and that the graph stops for this reason.
  func logStop(by node: Int32, _ error: any Error, of run: Run) {
    run.log.info("the node \(identity(of: node)) has failed, and stops the graph: \(error)")
  }
}

extension Run {
  /// Keeps why a node of a durable graph is executed again, for the event of its start and for snapshots.
  package func noteExecutionCause(_ cause: ExecutionCause) {
    core.withState { _ in ensureDetails().executionCause = cause }
  }
}
