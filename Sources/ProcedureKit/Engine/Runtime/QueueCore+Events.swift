/// Internal. What is told of runs, to those who watch the queue or one of them.
extension QueueCore {
  /// The events of every run, from now on: those that have come before are admitted first.
  func events() -> EventSubscription<ProcedureOccurrence> {
    withState { state in
      // So that nobody who has not seen that the queue is watched comes meanwhile.
      closeInbox(&state)
      return broadcaster.subscribe(waiting: ProcedureContext.lendingSlot)
    }
  }

  /// Reports an event. Called under the lock, so that events of one run are ordered as the decisions that they tell of.
  func record(
    _ kind: @autoclosure () -> ProcedureEvent.Kind, of run: Run, at instant: @autoclosure () -> ProcedureInstant,
    _ state: inout QueueState
  ) {
    let log = run.log
    guard log != nil || broadcaster.isObserved else { return }
    let event = ProcedureEvent(id: run.id, name: run.name, instant: instant(), kind: kind())
    broadcaster.send(ProcedureOccurrence(event), &state.woken)
    if let log {
      log.past.append(event)
      log.broadcaster.send(ProcedureOccurrence(event), &state.woken)
    }
  }

  /// Reports that a run has come by the inbox. Called under the lock of that.
  @inline(never)
  func recordArrival(of run: DetachedRun, at now: ProcedureInstant, _ woken: inout [Waiter]) {
    let event = ProcedureEvent(id: run.id, name: run.name, instant: now, kind: .didAttach)
    broadcaster.send(ProcedureOccurrence(event), &woken)
  }

  /// Reports that a run has finished, and that its worker goes on with the next in its slot. Called under the lock.
  @inline(never)
  func recordSuccession(
    of run: DetachedRun, by next: DetachedRun, at now: ProcedureInstant, _ state: inout QueueState
  ) {
    let finished = ProcedureEvent(
      id: run.id, name: run.name, instant: now, kind: .didFinish(run.outcomeWithoutValue))
    broadcaster.send(
      ProcedureOccurrence(finished: finished, attempt: run.attemptUnderWay, successor: next.identity), &state.woken)
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
  func events(of run: DetachedRun) -> EventSubscription<ProcedureOccurrence> {
    let (subscription, log, isOver) = withState { state in
      let log = self.log(of: run, state)
      return (
        log.broadcaster.subscribe(
          replaying: ContiguousArray(log.past.map { ProcedureOccurrence($0) }), waiting: ProcedureContext.lendingSlot),
        log, run.isFinished
      )
    }
    if isOver { log.broadcaster.close() }
    return subscription
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
