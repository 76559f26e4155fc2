/// Internal. What is told of runs, to those who watch the queue or one of them.
extension QueueCore {
  /// The events of every run, from now on. Runs that were added before are admitted first.
  ///
  /// - Parameter newest: How many events are buffered; a subscriber that is slower loses the oldest.
  /// - Returns: The stream.
  func events(bufferingNewest newest: Int) -> AsyncStream<ProcedureEvent> {
    let limit = EventLimit<ProcedureEvent>(newest: newest) { [name] in .gap($0, before: $1, on: name) }
    let subscription = withState { state in
      // So that no run is added meanwhile that has not seen the subscriber.
      closeInbox(&state)
      return broadcaster.subscribe(limit: limit)
    }
    return subscription.stream(waiting: ProcedureContext.lendingSlot)
  }

  /// Reports an event. Called under the lock, so that events of one run are ordered as the decisions that they tell of.
  func record(
    _ kind: @autoclosure () -> ProcedureEvent.Kind, of run: Run, at instant: @autoclosure () -> ProcedureInstant,
    _ state: inout QueueState
  ) {
    let log = run.log
    guard log != nil || broadcaster.isObserved else { return }
    let event = ProcedureEvent(id: run.id, name: run.name, instant: instant(), kind: kind())
    broadcaster.send(event, &state.eventEffects)
    log?.append(event, &state.eventEffects)
  }

  /// Reports that a run has come by the inbox. Called under the lock of that.
  @inline(never)
  func recordArrival(of run: DetachedRun, at now: ProcedureInstant, _ effects: inout [EventEffect]) {
    let event = ProcedureEvent(id: run.id, name: run.name, instant: now, kind: .didAttach)
    broadcaster.send(event, &effects)
  }

  /// Reports that a run has finished, and that its worker goes on with the next in its slot. Called under the lock.
  @inline(never)
  func recordSuccession(
    of run: DetachedRun, by next: DetachedRun, at now: ProcedureInstant, _ state: inout QueueState
  ) {
    func send(_ run: DetachedRun, _ kind: ProcedureEvent.Kind) {
      let event = ProcedureEvent(id: run.id, name: run.name, instant: now, kind: kind)
      broadcaster.send(event, &state.eventEffects)
    }
    if let attempt = run.attemptUnderWay { send(run, .didExecute(attempt: attempt)) }
    send(run, .willFinish(run.outcomeWithoutValue))
    send(run, .didFinish(run.outcomeWithoutValue))
    send(next, .willExecute(attempt: 1))
  }

  /// Reports an event of a run at once, unless its body has ended: a hook, or a task that the body has left behind, adds nothing.
  /// Runs do not remember such events, so it is kept for those who ask late.
  func report(_ kind: ProcedureEvent.Kind, of run: Run) {
    let moment = time.moment()
    visit { state, _, _ in
      guard run.member >= 0, state[run].lifecycle.state != .finishing else { return }
      if let run = run.detachedRun { _ = log(of: run, state) }
      record(kind, of: run, at: moment.instant, &state)
    }
  }

  // MARK: One run

  /// The events of one run, from its first on.
  func events(of run: DetachedRun) -> AsyncStream<ProcedureEvent> {
    let (log, isOver) = withState { state in (self.log(of: run, state), run.isFinished) }
    if isOver { log.close() }
    return log.subscribe().stream(waiting: ProcedureContext.lendingSlot)
  }

  /// The events of a run, which are kept from now on.
  func log(of run: DetachedRun, _ state: borrowing QueueState) -> EventLog {
    let log = run.storedLog ?? EventLog(past: pastEvents(of: run, state))
    run.storedLog = log
    return log
  }

  /// What happened to a run that nobody has watched, told from what it remembers.
  private func pastEvents(of run: DetachedRun, _ state: borrowing QueueState) -> ContiguousArray<ProcedureEvent> {
    var past: ContiguousArray<ProcedureEvent> = []
    func tell(_ kind: ProcedureEvent.Kind, at nanoseconds: Int64) {
      guard nanoseconds >= 0 else { return }
      past.append(
        ProcedureEvent(
          id: run.id, name: run.name, instant: ProcedureInstant(nanoseconds: nanoseconds), kind: kind))
    }
    tell(.didAttach, at: run.times.attached)
    tell(.willExecute(attempt: 1), at: run.times.started)
    if let cancellation = run.cancellation {
      tell(.didCancel(reason: cancellation.reason), at: cancellation.instant.nanoseconds)
    }
    if run.times.started >= 0 { tell(.didExecute(attempt: 1), at: run.times.ended) }
    guard run.isFinished else { return past }
    tell(.willFinish(run.outcomeWithoutValue), at: run.times.ended)
    tell(.didFinish(run.outcomeWithoutValue), at: run.times.ended)
    return past
  }
}
