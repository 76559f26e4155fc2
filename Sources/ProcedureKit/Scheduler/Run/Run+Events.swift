extension Run {
  /// Records an event of the run, if the run or its queue has a subscriber (L2).
  ///
  /// `instant` and `step` are evaluated for a subscriber only.
  @inline(__always)
  func record(
    at instant: @autoclosure () -> ProcedureInstant, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects,
    _ step: (borrowing QueueCore.State) -> ProcedureEvent.Step
  ) {
    guard core.broadcaster.isObserved || state.runs[self].hasLog, isReported, kind != .bareNode else { return }
    let (step, log) = (step(state), state.runs[self].details.observers.log)
    record(step, at: instant(), in: log, &state.runs, &effects)
  }

  /// Records an event, also one of a node, whose other events its graph reports.
  private func record(
    _ step: ProcedureEvent.Step, at instant: ProcedureInstant, in log: EventLog?,
    _ runs: inout RunTable, _ effects: inout QueueCore.Effects
  ) {
    guard log != nil || core.broadcaster.isObserved else { return }
    let instant = runs[self].stamp(instant)
    let event = ProcedureEvent(of: subject(in: runs), at: instant, step)
    var woken: [EventEffect] = []
    // A run that the queue has refused was never there: only its handle reports the end.
    if runs[self].member >= 0 || runs[self].attached >= 0 { core.broadcaster.send(event, &woken) }
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
      let log = state.runs[run].details.observers.log.flatMap { $0.isRead ? $0 : nil }
      let slotWait = state.machine.meters?.slotWait(of: state.runs[slotOwner].member) ?? -1
      let slot = slotNumber(state)
      run.record(
        .didAwait(awaited, slot: slot, slotWait: slotWait), at: reading.instant, in: log, &state.runs, &effects)
    }
  }

  /// Records an event that not every run has, under the id of the reporting run.
  func report(_ step: ProcedureEvent.Step) {
    let run = reported
    // The log of an added run is made here, for later subscribers.
    guard run.kind == .added || run.hasLog || run.core.broadcaster.isObserved else { return }
    let reading = run.core.time.reading()
    run.core.send { state, effects in
      guard run.outcome == nil else { return }
      if run.kind == .added { _ = run.ensureEventLog(&state.runs) }
      let log = state.runs[run].details.observers.log
      run.record(step, at: reading.instant, in: log, &state.runs, &effects)
    }
  }

  /// The run as the subject of an event. The latest attempt has not started while the run pauses before it.
  private func subject(_ attempt: Int? = nil, in runs: borrowing RunTable) -> ProcedureEvent.Subject {
    ProcedureEvent.Subject(
      id: id, name: name,
      attempt: attempt ?? (runs[self].hasStarted ? runs[self].details.pause.latestAttempt : 0),
      parent: parent?.reported.id, isNode: kind == .node || kind == .bareNode)
  }
}

extension Run {
  /// The events of the run, from the first. Each call subscribes anew.
  func events() -> AsyncStream<ProcedureEvent> {
    let (log, isOver) = core.update { runs in (ensureEventLog(&runs), outcome != nil) }
    if isOver { log.close() }
    return log.subscribe().stream { await ProcedureContext.waitingForEvent(of: self, $0) }
  }

  /// Returns the log of the run's events, and makes it from what has happened so far.
  private func ensureEventLog(_ runs: inout RunTable) -> EventLog {
    if let log = runs[self].details.observers.log { return log }
    let log = EventLog(past: pastEvents(in: runs))
    runs[self].details.observers.log = log
    setLogged()
    return log
  }

  private func pastEvents(in runs: borrowing RunTable) -> ContiguousArray<ProcedureEvent> {
    let (attached, started, ended) = (runs[self].attached, runs[self].started, runs[self].ended)
    let cancellation = runs[self].details.cancellation
    var past: ContiguousArray<ProcedureEvent> = []
    func add(_ step: ProcedureEvent.Step, at nanoseconds: Int64, index: Int? = nil) {
      guard nanoseconds >= 0 else { return }
      let index = min(index ?? past.count, past.count)
      let attempt = past[..<index].contains { $0.attempt > 0 } ? 1 : 0
      past.insert(
        ProcedureEvent(of: subject(attempt, in: runs), at: ProcedureInstant(nanoseconds: nanoseconds), step), at: index)
    }
    add(
      .didAttach(after: runs[self].details.dependencies.handles.map(\.identity.id), elementOf: layer.traits.collection),
      at: attached)
    add(.willExecute(attempt: 1), at: started)
    if started >= 0 { add(.didExecute(attempt: 1), at: ended) }
    if let cancellation {
      add(.didCancel(reason: cancellation.reason), at: cancellation.instant, index: cancellation.eventsBefore)
    }
    guard let outcome else { return past }
    let latestInstant = max(ended, cancellation?.instant ?? -1)
    add(.willFinish(outcome.withoutValue), at: latestInstant)
    add(.didFinish(outcome.withoutValue, runs[self].metrics), at: latestInstant)
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
      "\(name.quoted) is retried without a delay and without a limit. Give the retry maxAttempts, a budget, or a schedule with delays."
    )
  }

  /// Tells that a child has failed, and that the run stops for this reason.
  func logStop(by child: Run, _ outcome: ProcedureOutcome<Void>) {
    guard case .failed(let error) = outcome else { return }
    log.info("child \(child.identity) failed, which stops its parent: \(error)")
  }
}

extension GraphRun {
  /// Tells that a node has failed, and that the graph stops for this reason.
  func logStop(by node: Int32, _ error: any Error, of run: Run) {
    run.log.info("node \(identity(of: node)) failed, which stops the graph: \(error)")
  }
}

extension Run {
  /// Keeps why a node of a durable graph is executed again, for the event of its start and for snapshots.
  package func noteExecutionCause(_ cause: ExecutionCause) {
    core.update { $0[self].details.extensions.executionCause = cause }
  }
}
