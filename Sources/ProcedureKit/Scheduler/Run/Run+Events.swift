extension Run {
  /// Records an event of the run if the run or its queue has a subscriber (L2).
  ///
  /// `instant` and `content` are evaluated only if there is a subscriber.
  @inline(__always)
  func record(
    at instant: @autoclosure () -> ProcedureInstant, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects,
    _ content: (borrowing QueueCore.State) -> ProcedureEvent.Content
  ) {
    guard core.broadcaster.isObserved || state.runs[self].hasLog, isReported, kind != .bodyOnlyNode else { return }
    record(content(state), at: instant(), in: state.runs[self].details.observers.log, &state, &effects)
  }

  /// Records an event in the log and publishes it on the queue, even for a node whose other events the graph reports.
  private func record(
    _ content: consuming ProcedureEvent.Content, at instant: ProcedureInstant, in log: EventLog?, isKept: Bool = true,
    _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects
  ) {
    guard log != nil || core.broadcaster.isObserved else { return }
    let instant = state.runs[self].stamp(instant)
    // The event has the number of the latest attempt that has started, or 0 if none has.
    let attempt = hasStarted(state) ? state.runs[self].details.pause.latestAttempt : 0
    let event = ProcedureEvent(of: subject(attempt), at: instant, content)
    var eventEffects: [EventEffect] = []
    // The queue does not publish the end of a run that it refused. Only the handle of the run reports the end.
    if state.runs[self].member >= 0 || state.runs[self].attached >= 0 { core.broadcaster.send(event, &eventEffects) }
    log?.append(event, isKept: isKept, &eventEffects)
    for effect in eventEffects { effects.add(.event(effect)) }
  }

  /// Records that the body awaited another run.
  func didAwait(_ awaited: ProcedureIdentity) {
    if reported.id == awaited.id { return }
    report(isKept: false) { state in
      let slotWait = state.machine.meters?.slotWait(of: state.runs[slotOwner].member) ?? -1
      return .init(step: .didAwait(awaited), slot: slotNumber(state), slotWait: slotWait)
    }
  }

  /// Records that the body has requested the value that another run computes.
  func didRequest(_ requested: ProcedureIdentity) {
    report(isKept: false) { _ in .init(step: .didRequest(requested)) }
  }

  /// Records a rare event, under the ID of the reporting run. An added run gets a log, so that later subscribers receive the event.
  func report(_ step: ProcedureEvent.Step) { report(isKept: true) { _ in .init(step: step) } }

  /// Records an event under the ID of the reporting run.
  ///
  /// If `isKept` is `false`, the event is not kept for later subscribers, because a body can cause any number of such events. Without
  /// subscribers, the call then costs two atomic loads, unless the run has a log.
  private func report(isKept: Bool, _ content: (borrowing QueueCore.State) -> ProcedureEvent.Content) {
    let run = reported
    let createsLog = isKept && run.kind == .added
    guard createsLog || run.hasLog || run.core.broadcaster.isObserved else { return }
    let instant = run.core.time.now
    run.core.send { state, effects in
      guard !run.isFinished else { return }
      let log = createsLog ? run.ensureEventLog(&state.runs) : state.runs[run].details.observers.log
      run.record(content(state), at: instant, in: log, isKept: isKept, &state, &effects)
    }
  }

  /// Returns the run as the subject of an event (L6).
  private func subject(_ attempt: Int) -> ProcedureEvent.Subject {
    ProcedureEvent.Subject(
      id: id, name: name, attempt: attempt, parent: parent?.reported.id, isNode: kind == .node || kind == .bodyOnlyNode)
  }

  /// Subscribes to the events of the run, from the first one (L2).
  func events() -> AsyncStream<ProcedureEvent> {
    let (log, hasEnded) = core.update { runs in (ensureEventLog(&runs), isFinished) }
    if hasEnded { log.close() }
    let hasWaited = Locked(false)
    return log.subscribe().stream { await ProcedureContext.waitingForEvent(of: self, hasWaited, $0) }
  }

  /// Returns the event log of the run. The first call creates the log, with the events that have occurred so far.
  private func ensureEventLog(_ runs: inout RunTable) -> EventLog {
    if let log = runs[self].details.observers.log { return log }
    let log = EventLog(past: pastEvents(in: runs))
    runs[self].details.observers.log = log
    setLogged()
    return log
  }

  /// Reconstructs, from the recorded instants, the events that have occurred so far (L2).
  private func pastEvents(in runs: borrowing RunTable) -> ContiguousArray<ProcedureEvent> {
    let (attached, started, ended) = (runs[self].attached, runs[self].started, runs[self].ended)
    let cancellation = runs[self].details.cancellation
    var past: ContiguousArray<ProcedureEvent> = []
    func add(_ content: ProcedureEvent.Content, at nanoseconds: Int64, index: Int? = nil) {
      guard nanoseconds >= 0 else { return }
      let index = min(index ?? past.count, past.count)
      let attempt = past[..<index].contains { $0.attempt > 0 } ? 1 : 0
      past.insert(
        ProcedureEvent(of: subject(attempt), at: ProcedureInstant(nanoseconds: nanoseconds), content), at: index)
    }
    let dependencies = runs[self].details.dependencies.handles.map(\.identity.id)
    add(.init(step: .didAttach, dependencies: dependencies, collection: layer.traits.collection), at: attached)
    add(.init(step: .willExecute(attempt: 1)), at: started)
    if started >= 0 { add(.init(step: .didExecute(attempt: 1)), at: ended) }
    if let cancellation {
      let step = ProcedureEvent.Step.didCancel(reason: cancellation.reason)
      add(.init(step: step), at: cancellation.instant, index: cancellation.eventsBefore)
    }
    guard let outcome else { return past }
    let latestInstant = max(ended, cancellation?.instant ?? -1)
    add(.init(step: .willFinish(outcome.withoutValue)), at: latestInstant)
    add(.init(step: .didFinish(outcome.withoutValue), metrics: runs[self].metrics), at: latestInstant)
    return past
  }
}
