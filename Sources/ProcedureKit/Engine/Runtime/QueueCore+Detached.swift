/// Internal. How added runs come, are worked on, and end.
extension QueueCore {
  /// What a worker is to do next.
  enum Assignment: Sendable {
    case evaluate(DetachedRun, [Condition], [ContextCarrier.Binding])
    case execute(WorkerFrame)
    /// Call what is to be called when a run ends.
    case conclude(DetachedRun)
    /// Nothing at this moment; ask again after a while.
    case pause
    /// Nothing at this moment: `linger`, once the worker has let go of all that it has executed. That may call what is the user's and
    /// take any time, and as long as a worker lingers none is ordered.
    case idle
    case end
  }

  /// What becomes of a run that is to be admitted.
  private enum Admittance {
    case admitted(isDoomed: Bool)
    case refused(ProcedureError)
  }

  /// Admits a run, or refuses it if the queue has been shut down or is full.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - handles: What it waits for; each is to be reported by `settleDependency`.
  ///   - hasRoom: Whether room has been reserved for it.
  func admit(_ run: DetachedRun, dependencies handles: [any ProcedureDependency], hasRoom: Bool = false) {
    let now = time.now
    let lateness = run.limit?.arrived(run)
    let dependencies = handles.isEmpty ? [] : handles.map(\.identity)
    let admittance = visit { state, actions, effects -> Admittance in
      if hasRoom { state.room.reservationEnded() }
      guard !state.machine.isShutDown || run.parent != nil || self.isInside(state) else {
        return .refused(.queueShutDown(procedure: run.identity, queue: name))
      }
      guard hasRoom || makeRoom(for: run, at: now, &state, &actions, &effects) else {
        return .refused(.queueFull(procedure: run.identity, queue: name, limit: state.room.limit))
      }
      if !dependencies.isEmpty {
        run.missingDependencies = dependencies.count
        (run.dependencies, run.dependencyHandles) = (dependencies, handles)
      }
      seat(run, at: now, &state, &actions, &effects)
      if let lateness { cancel(run, lateness, at: now, &state, &actions, &effects) }
      return .admitted(isDoomed: state.isDoomed)
    }
    switch admittance {
    case .admitted(let isDoomed):
      if isDoomed { cancel(run, nil) }
      run.limit?.admitted(run)
    case .refused(let error): refuse(run, error)
    }
    for handle in handles { handle.raise(to: TaskPriority(rawValue: run.priority)) }
    // Somebody may wait for the queue, and so for what the run depends on.
    if !handles.isEmpty, ResourceBook.shared.hasAwaits { run.tellAwaits() }
  }

  /// Adds a run, which tells of its end by what it is told by `body`.
  @usableFromInline
  func add(
    _ work: AnyProcedureWork, after dependencies: [any ProcedureDependency], hasRoom: Bool = false,
    body: @escaping DetachedRun.Body
  ) -> DetachedRun {
    let run = DetachedRun(work, core: self, wanting: demands(of: work), body: body)
    if dependencies.isEmpty, !hasRoom, admitAtOnce(run) { return run }
    admit(run, dependencies: dependencies, hasRoom: hasRoom)
    for (index, dependency) in dependencies.enumerated() {
      // Weak: a run that is over before its dependency is does not have to be kept for it.
      dependency.whenFinished { [weak run] outcome in
        if let run { run.core.settleDependency(of: run, at: index, outcome) }
      }
    }
    return run
  }

  /// What a procedure wants to hold, as the table of the queue knows it. May call what is the user's: not under any lock.
  func demands(of work: AnyProcedureWork) -> ResourceDemands? {
    work.admission.demands(in: resources)
  }

  /// What is carried from here to the body of a run that comes now.
  var carried: [ContextCarrier.Binding] { carriers.isEmpty ? [] : carriers.map { $0.capture() } }

  private func seat(
    _ run: DetachedRun, at now: ProcedureInstant, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) {
    run.times.attached = now.nanoseconds
    // What a body has produced has its place in line.
    let place = run.parent?.slotHolder(on: self).flatMap { $0.member >= 0 ? state[$0] : nil }
    let member = state.machine.admitted(
      .detached, priority: max(run.priority, place?.priority ?? 0), inheriting: place?.order,
      hasDependencies: !run.dependencies.isEmpty, hasConditions: !run.conditions.isEmpty,
      hasResources: run.resources != nil, hasEnding: run.hasEnding,
      countsAsWaiting: state.room.isLimited && run.parent == nil, claimsAtOnce: !state.isDoomed, &actions)
    state.seat(run, at: member)
    state.room.admitted(run, state.holders, state.machine)
    record(.didAttach, of: run, at: now, &state)
    if state[run].holdsSlot, let wants = run.resources, state.claimResources(for: run, wants, &actions, &effects) {
      state.machine.resourcesHeldAtOnce(member, wish: wants.wish, &actions)
      state.leadStarted(run)
    }
  }

  /// Says whether there is room for a run that waits to be started, after one has made room for it if it may.
  private func makeRoom(
    for run: DetachedRun, at now: ProcedureInstant, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> Bool {
    if !state.room.isLimited || run.parent != nil || state.room.hasRoom(state.machine) { return true }
    guard let other = state.room.replaceable(run.admission.key, state.holders, state.machine) else { return false }
    let reason = ProcedureError.replaced(procedure: other.identity, by: run.identity)
    cancel(other, reason, at: now, &state, &actions, &effects)
    return true
  }

  /// Waits until there is room for a run that waits to be started; `admit` has to follow. No slot is held meanwhile.
  ///
  /// - Throws: `CancellationError` where the caller is cancelled before.
  func reserveRoom() async throws {
    let place = Place()
    guard limitsWaiting else { return }
    visit { state, _, _ in state.room.enter(place) }
    let context = ProcedureContext.current
    context?.scope.lendSlot()
    let wait = { () async -> Bool in
      await withRunCancellationHandler(in: context, key: place) {
        await place.wait()
      } onCancel: {
        place.leave()
      }
    }
    let isCalled = if let context { await context.awaiting(.queue(self, .room), wait) } else { await wait() }
    await context?.scope.regainSlot()
    if !isCalled { throw context?.cancellationReason ?? CancellationError() }
  }

  /// Gives room to somebody, or to the next if that one has left.
  func call(_ place: Place) {
    var next: Place? = place
    while let place = next, !place.call() {
      next = withState { state in
        state.room.reservationEnded()
        return state.room.next(state.machine)
      }
    }
  }

  /// A run never comes to the queue.
  func refuse(_ run: DetachedRun, _ error: ProcedureError) {
    run.store(.failed(error))
    run.times.ended = time.now.nanoseconds
    run.publishOutcome()
    end(run, withState { _ in run.storedLog })
  }

  /// Whether the current task is part of a body on this queue, which may still add to it while it is being shut down.
  private func isInside(_ state: borrowing QueueState) -> Bool {
    ProcedureContext.current?.slotHolder(on: self).map { $0.member >= 0 } ?? false
  }

  /// A dependency has settled: the run goes on, waits for the rest, or ends like it.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - index: Which of its dependencies.
  ///   - outcome: What that one came to.
  func settleDependency(of run: DetachedRun, at index: Int, _ outcome: ProcedureOutcome<Void>) {
    if case .cancelled(let reason) = outcome { return cancel(run, reason) }
    visit { state, actions, effects in
      guard run.member >= 0, state[run].lifecycle.state == .pending,
        let dependency = run.takeDependency(at: index)
      else { return }
      switch outcome {
      case .finished:
        run.missingDependencies -= 1
        guard run.missingDependencies == 0 else { return }
        effects.append(.letGo(run.dependencyHandles.takeAll()))
        state.machine.dependenciesSettled(run.member, .satisfied, &actions)
      case .failed(let error):
        run.store(.failed(ProcedureError.dependencyFailed(of: run.identity, dependency, error)))
        state.machine.dependenciesSettled(run.member, .unsatisfied, &actions)
      case .ignored(let condition):
        run.store(.ignored(by: condition))
        state.machine.dependenciesSettled(run.member, .unsatisfied, &actions)
      case .cancelled: break
      }
    }
  }

  // None of what a worker calls is inlined: its function would hold each once for every place where it may suspend.

  /// A worker has started and asks for its first work.
  @inline(never)
  func startWorker(_ worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      assign(to: worker, isNew: true, mayStay: false, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has found nothing to do, and let go of all that it has executed: it stays for a moment, unless another does, and asks
  /// once more.
  @inline(never)
  func linger(_ worker: QueueWorker) -> Assignment {
    let lingers = withState(admitting: .first) { $0.machine.lingeringStarted() }
    if lingers { waitForWork() }
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      if lingers { state.machine.lingeringEnded() }
      return assign(to: worker, mayStay: false, at: now, &state, &actions, &effects)
    }
  }

  /// A worker asks for work after a pause.
  @inline(never)
  func continueWorker(_ worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has evaluated a run's conditions and asks for its next work.
  @inline(never)
  func settleConditions(of run: DetachedRun, _ verdict: ConditionVerdict, judgedBy worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit { state, actions, effects in
      run.worker = nil
      if run.member >= 0, state[run].lifecycle.state == .evaluating {
        switch verdict {
        case .satisfied: state.machine.conditionsSettled(run.member, .satisfied, &actions)
        case .ignored(let condition):
          run.store(.ignored(by: condition))
          state.machine.conditionsSettled(run.member, .unsatisfied, &actions)
        case .failed(let condition, let error):
          run.store(
            .failed(
              ProcedureError.conditionFailed(procedure: run.identity, condition: condition, underlying: error)))
          state.machine.conditionsSettled(run.member, .unsatisfied, &actions)
        }
      }
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has executed a body and asks for its next work, or for none yet. The run has finished when this returns.
  @inline(never)
  func finishBody(of run: DetachedRun, executedBy worker: QueueWorker, pauses: Bool) -> Assignment {
    let now = time.now
    // What depends on the run may come first now, so it is told before anybody is taken.
    let hasDependents = run.hasDependents
    var log: EventLog?
    let assignment = visit(admitting: .first) { state, actions, effects -> Assignment? in
      // Its slot is left free, and what comes must not have a worker made for it: this one takes it, once they have been told.
      if hasDependents { closeInbox(&state) }
      state.machine.bodyEnded(run.member)
      run.worker = nil
      recordEndOfBody(of: run, at: now, &state)
      if run.hasEnding {
        state.endClaim(of: run, &actions, &effects)
        state.machine.concluded(run.member)
      } else {
        log = leave(run, at: now, &state, &actions, &effects)
      }
      if hasDependents { return nil }
      if pauses, !worker.isSpent {
        state.machine.settled(&actions)
        return .pause
      }
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
    if !run.hasEnding { end(run, log) }
    return assignment ?? (pauses ? pause(worker) : continueWorker(worker))
  }

  /// A worker will ask for work after a pause.
  private func pause(_ worker: QueueWorker) -> Assignment {
    visit { state, actions, _ in
      state.machine.settled(&actions)
      return worker.isSpent ? .end : .pause
    }
  }

  /// The outcome of a run with an ending can be read from now on.
  @inline(never)
  func publish(_ run: DetachedRun) {
    let now = time.now
    let log = visit { state, _, _ in
      run.times.ended = now.nanoseconds
      record(.willFinish(run.outcomeWithoutValue), of: run, at: now, &state)
      run.publishOutcome()
      record(.didFinish(run.outcomeWithoutValue), of: run, at: now, &state)
      return run.storedLog
    }
    end(run, log)
  }

  /// A worker has carried out a run's ending, and asks for its next work.
  @inline(never)
  func finishEnding(of run: DetachedRun, by worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit { state, actions, effects in
      state.unseat(run, &actions, &effects)
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// A run was decided before its body started.
  func finishBeforeBody(_ run: DetachedRun) {
    let now = time.now
    let log = visit { state, actions, effects in
      let log = leave(run, at: now, &state, &actions, &effects)
      state.machine.settled(&actions)
      return log
    }
    end(run, log)
  }

  /// The run's outcome is published, and its slot is free.
  ///
  /// - Returns: Where its own events are kept, if somebody has asked for them.
  private func leave(
    _ run: DetachedRun, at now: ProcedureInstant, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> EventLog? {
    run.times.ended = now.nanoseconds
    if !run.dependencyHandles.isEmpty { effects.append(.letGo(run.dependencyHandles.takeAll())) }
    record(.willFinish(run.outcomeWithoutValue), of: run, at: now, &state)
    if state.machine.leads(run.member) {
      // That one is enough, if it goes on with what the run held.
      admitFirstFollower(&state)
      if !state.leadPassedOn(by: run) {
        admitFollowers(&state)
        state.leadEnds(&actions, &effects)
      }
    }
    state.unseat(run, &actions, &effects)
    run.publishOutcome()
    record(.didFinish(run.outcomeWithoutValue), of: run, at: now, &state)
    return run.storedLog
  }

  /// Tells everybody who waits for the run, outside of the lock. Its outcome has been published.
  private func end(_ run: DetachedRun, _ log: EventLog?) {
    run.limit?.ended(run)
    run.releaseBody()
    run.notifyListeners()
    log?.broadcaster.close()
  }

  /// How many runs one visit to the lock finds unable to go on before it is left.
  private static let mostClaimsAtOnce = 64

  // With `mayStay`, a worker that finds nothing may linger; and where it has claimed something in vain, since that may come soon.
  private func assign(
    to worker: QueueWorker, isNew: Bool = false, mayStay: Bool = true, at now: ProcedureInstant,
    _ state: inout QueueState, _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> Assignment {
    if worker.isSpent {
      state.machine.settled(&actions)
      return .end
    }
    var work = state.machine.workerAsked(isNew: isNew, &actions)
    var claims = 0
    while true {
      switch work {
      case .end: return (mayStay || claims > 0) && letsWorkersLinger ? .idle : .end
      case .evaluate(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        run.worker = worker
        return .evaluate(run, run.conditions, run.bindings)
      case .claim(let member):
        guard let run = state.holders[Int(member)]?.detachedRun, let request = run.resources else { return .end }
        claims += 1
        if claims > Self.mostClaimsAtOnce {
          state.machine.claimPutOff(member)
          return .pause
        }
        if state.claimResources(for: run, request, &actions, &effects) {
          work = state.machine.resourcesTaken(member)
        } else {
          work = state.machine.workerAsked(isNew: false, &actions)
        }
      case .conclude(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        state.endClaim(of: run, &actions, &effects)
        if !run.dependencyHandles.isEmpty { effects.append(.letGo(run.dependencyHandles.takeAll())) }
        return .conclude(run)
      case .execute(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        run.worker = worker
        // Whoever added it may have looked at the clock since.
        let now = max(now, ProcedureInstant(nanoseconds: run.times.attached))
        run.times.started = now.nanoseconds
        if run.resources != nil { state.leadStarted(run) }
        record(.willExecute(attempt: 1), of: run, at: now, &state)
        return .execute(WorkerFrame(run, holding: run.claim.map(ResourceHold.init)))
      }
    }
  }
}
