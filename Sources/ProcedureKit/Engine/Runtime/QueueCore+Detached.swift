/// Internal. How added runs come, and end. What is between is in `QueueCore+Workers.swift`.
extension QueueCore {
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
    guard let other = state.room.replaceable(by: run, state.holders, state.machine) else { return false }
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
    (run.times.attached, run.times.ended) = (-1, time.now.nanoseconds)
    run.publishOutcome()
    end(run, withState { _ in run.storedLog })
    run.releaseEnding()
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
  func leave(
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
  func end(_ run: DetachedRun, _ log: EventLog?) {
    run.limit?.ended(run)
    run.releaseBody()
    run.notifyListeners()
    log?.close()
  }
}
