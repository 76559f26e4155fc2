extension QueueCore {
  // MARK: Structured runs

  /// A run comes in its caller's task. Whether the body is to be executed now; if not, `drive` leads on.
  @usableFromInline
  func startStructured(_ layer: ModifierLayer) -> (run: Run, starts: Bool) {
    let parent = ProcedureContext.current?.run.nearestUnfinished
    let run = Run(self, layer, .structured, parent: parent)
    guard parent == nil, layer.hasOnlyBody, hasNoHooks, !Task.isCancelled else { return (run, false) }
    let priority = layer.traits.rawPriority ?? Task.currentPriority.rawValue
    let reading = time.lazyReading()
    let starts = send { state, effects in
      guard !state.isShutDown, !state.cancelsAdmitted else { return false }
      let step = admitted(run, priority: priority, needs: [], &state, &effects)
      run.record(.didAttach(), at: reading.instant, &effects)
      guard step == .start else { return false }
      state.machine.bodyStarted(run.member)
      run.hasStarted = true
      run.record(
        .willExecute(attempt: 1, slot: run.slotNumber(state), slotWait: run.slotWait(state)), at: reading.instant,
        &effects)
      return true
    }
    return (run, starts)
  }

  /// Runs a task that has something to wait for.
  @usableFromInline @concurrent
  func drive<Input: Sendable, Output: Sendable>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    run.setBody(task.body(with: input), task.closures)
    return try await run.driveToEnd(admitted: task.layer.traits.rawPriority)
  }

  /// The body of a plain run has ended. Whether that was all; if not, `finish` leads on.
  @usableFromInline
  func finishFast(_ run: Run) -> Bool {
    if Task.isCancelled { return false }
    let reading = time.lazyReading()
    return send { state, effects in
      guard run.details == nil else { return false }
      run.record(.didExecute(attempt: 1, slot: run.slotNumber(state)), at: reading.instant, &effects)
      state.machine.bodyEnded(run.member, &effects.next)
      run.publish(.finished(()), at: reading, &state, &effects)
      run.removeFromMachine(&state, &effects)
      return true
    }
  }

  /// Ends a plain run that has failed, was cancelled, or has children.
  @usableFromInline @concurrent
  func finish<Output: Sendable>(_ run: Run, _ result: Result<Output, any Error>) async throws -> Output {
    run.bodyEnded(result.map { $0 })
    await run.finish()
    guard let outcome = run.outcome else { preconditionFailure("\(run.identity) has ended without an outcome") }
    return try outcome.map { $0 as! Output }.get(of: run.identity)
  }

  // MARK: Added runs

  /// Adds a run. O(1) without dependencies.
  @usableFromInline
  func add(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    hasRoom: Bool = false,
    body: @escaping Run.Body
  ) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    if let error = admit(run, after: dependencies, room: hasRoom ? .reserved : .byOverflow) { run.refuse(error) }
    return run
  }

  /// Adds a run if the queue admits it at once; otherwise the refusal is counted, and no run remains. O(1) without dependencies.
  func tryAdd(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: @escaping Run.Body
  ) throws(ProcedureError) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    guard let error = admit(run, after: dependencies, room: .atOnce) else { return run }
    withState { $0.count(run, .failed(error), nil) }
    throw error
  }

  /// How a run gets room on a queue that limits the runs that wait.
  enum RoomRule: Sendable {
    /// As the overflow of the queue says, which may replace another run.
    case byOverflow
    /// Room was reserved for the run.
    case reserved
    /// Only if no caller waits for room, and without replacing another run.
    case atOnce
  }

  /// Admits a run to the queue.
  ///
  /// - Returns: The reason why the queue refuses the run; `nil` if the run was admitted, or has ended because its deadline had passed.
  func admit(
    _ run: Run, after dependencies: [any ProcedureDependency], room: RoomRule = .byOverflow
  ) -> ProcedureError? {
    if !carriers.isEmpty {
      let bindings = carriers.map { $0.capture() }
      run.setBindings(bindings)
    }
    let lateness = run.layer.traits.deadline.flatMap { run.lateness($0) }
    if let lateness {
      if room == .reserved { send { state, _ in state.limiter.releaseReservation(run.keyID) } }
      run.refuse(lateness)
      return nil
    }
    let own = run.layer.traits.rawPriority ?? Task.currentPriority.rawValue
    let priority = max(own, run.parent?.currentPriority ?? 0)
    let reading = time.reading()
    var needs = run.layer.needs
    if !dependencies.isEmpty { needs.insert(.dependencies) }
    let isFromBody = isAround(run.parent ?? ProcedureContext.current?.run.nearestUnfinished)
    var next = RunStep.wait
    let (refusal, replaced) = send { state, effects -> (AdmissionLimiter.Refusal?, Run?) in
      if room == .reserved { state.limiter.releaseReservation(run.keyID) }
      guard !state.isShutDown || isFromBody else { return (.shutDown, nil) }
      var replaced: Run?
      if limitsWaiting, run.parent == nil {
        switch room {
        case .reserved: break
        case .atOnce: if let refusal = state.limiter.refusal(for: run.keyID, state.machine) { return (refusal, nil) }
        case .byOverflow:
          guard let refusal = state.limiter.refusal(for: run.keyID, state.machine) else { break }
          replaced = state.limiter.takeReplaceable(of: run.keyID, state.machine).flatMap { state[$0] }
          guard replaced != nil else { return (refusal, nil) }
        }
      }
      if !dependencies.isEmpty {
        run.ensureDetails().dependencies = dependencies
        run.ensureDetails().missingDependencies = dependencies.count
      }
      run.attached = run.stamp(reading.instant).nanoseconds
      let step = admitted(run, priority: priority, needs: needs, &state, &effects)
      run.record(
        .didAttach(after: dependencies.map(\.identity.id), elementOf: run.layer.traits.collection),
        at: reading.instant, &effects)
      if limitsWaiting { state.limiter.addReplaceable(run.member, of: run.keyID, state.machine) }
      next = step
      if state.cancelsAdmitted { effects.add(.cancel(run)) }
      return (nil, replaced)
    }
    if let refusal { return refusal.error(of: run) }
    run.startDeadline()
    if next != .wait { run.advance(from: next) }
    if let replaced { replaced.cancel(ProcedureError.replaced(procedure: replaced.identity, by: run.identity)) }
    for dependency in dependencies { watch(dependency, for: run, priority) }
    if !dependencies.isEmpty, run.mayBeAwaited { DeadlockSearch.resolveDeadlock(from: run) }
    return nil
  }

  /// Whether the run is, or is a part of, a body on this queue: such a body may add to the queue also during a shutdown.
  func isAround(_ run: Run?) -> Bool { run?.ancestors.contains { $0.core === self } ?? false }

  // MARK: Dependencies

  private func watch(_ dependency: any ProcedureDependency, for run: Run, _ priority: UInt8) {
    let dependency = dependency.asRunDependency
    let other = dependency.dependencyRun
    if priority > TaskPriority.background.rawValue { other.core.raise(other, to: priority) }
    dependency.whenFinished(by: run.id) { outcome in
      run.dependencySettled(other.identity, outcome, isOutside: other.core !== self)
    }
  }

  // MARK: Workers

  /// The next run for a worker, or `nil`: the worker ends then.
  func nextRun(for worker: Worker, isStarting: Bool) -> Run? {
    let reading = time.reading()
    return send { state, effects in takeNext(for: worker, isStarting: isStarting, at: reading, &state, &effects) }
  }

  /// The next run for a worker that has executed `run`.
  func nextRun(for worker: Worker, after run: Run) -> Run? {
    let reading = time.reading()
    return send { state, effects in
      if run.worker === worker { run.worker = nil }
      // The task may be cancelled: it takes nothing more.
      guard run.details?.cancel == nil, !(run.details?.isStopping ?? false) else { return nil }
      return takeNext(for: worker, isStarting: false, at: reading, &state, &effects)
    }
  }

  private func takeNext(
    for worker: Worker, isStarting: Bool, at reading: QueueClock.Reading, _ state: inout State, _ effects: inout Effects
  ) -> Run? {
    state.machine.workerAsked(isStarting: isStarting, &effects.next)
    guard let member = effects.next.execute, let run = state[member] else { return nil }
    run.worker = worker
    if run.canStartInline {
      state.machine.bodyStarted(member)
      run.hasStarted = true
      run.started = run.stamp(reading.instant).nanoseconds
      run.record(
        .willExecute(attempt: 1, slot: run.slotNumber(state), slotWait: run.slotWait(state)), at: reading.instant,
        &effects)
    }
    return run
  }

  struct Following {
    let run: Run?
  }

  /// The body of a run that has started plainly has ended by a worker: publishes the outcome.
  ///
  /// - Returns: The run that the worker goes on with; `nil` if more is to be done for this one.
  @inline(__always)
  func finishInline(_ run: Run, _ result: Result<any Sendable, any Error>, _ worker: Worker) -> Following? {
    var granted: [Run] = []
    if run.layer.needs.contains(.claim) {
      let isOver = withState { _ in
        // Decided before the resources are given back: a task that the body has left behind claims nothing more for the run.
        run.isDecided = run.canFinishInline
        return run.isDecided
      }
      guard isOver else { return nil }
      granted = resources.giveBack(run)
      for other in granted where other.core !== self { other.claimGranted() }
    }
    let reading = time.reading()
    let (following, released, log) = send { state, effects -> (Following?, Run.ReleasedReferences?, EventLog?) in
      let canFinishInline = run.canFinishInline
      if canFinishInline {
        run.worker = nil
        run.ended = run.stamp(reading.instant).nanoseconds
        run.record(.didExecute(attempt: 1, slot: run.slotNumber(state)), at: reading.instant, &effects)
        state.machine.bodyEnded(run.member, &effects.next)
        run.publish(Run.Outcome(result), at: reading, &state, &effects)
        run.removeFromMachine(&state, &effects)
      }
      for other in granted where other.core === self { other.claimGranted(&state, &effects) }
      guard canFinishInline else { return (nil, nil, nil) }
      let following = Following(run: takeNext(for: worker, isStarting: false, at: reading, &state, &effects))
      return (following, run.detachReferences(keepingHooks: false), run.details?.log)
    }
    _ = released
    log?.close()
    return following
  }
}

extension Run {
  /// Whether the worker needs only to call the body. Asked under the lock, before the body is called.
  var canStartInline: Bool {
    layer.canStartInline && core.hasNoHooks && parent == nil && details?.bindings.isEmpty ?? true
  }

  /// Whether the end of the body is the end of the run, and the worker can take the next run in the same visit: dependents come first.
  /// Asked under the lock.
  var canFinishInline: Bool {
    guard let details else { return true }
    return details.cancel == nil && !details.isStopping && details.producedCount == 0 && details.failures.isEmpty
      && details.listeners.isEmpty
  }
}

extension Run {
  /// The priority of the run, or of the body that it is a part of, in the ready queue.
  var currentPriority: UInt8 {
    let owner = slotOwner
    return owner.core.withState { state in owner.member >= 0 ? state.machine[owner.member].priority : 0 }
  }

  func setBody(_ body: @escaping Body, _ closures: ModifierLayer.Closures? = nil) {
    core.withState { _ in (self.body, self.closures) = (body, closures) }
  }

  func setBindings(_ bindings: [ContextCarrier.Binding]) { core.withState { _ in ensureDetails().bindings = bindings } }

  /// Ends the run before its body has started. Not if the body has.
  func end(_ outcome: Outcome) {
    core.send { state, effects in
      if endWithoutStart(outcome, &state) { QueueCore.deliver(.finish, to: self, &effects) }
    }
  }

  /// One of the dependencies has ended (D1).
  func dependencySettled(_ dependency: ProcedureIdentity, _ outcome: ProcedureOutcome<Void>, isOutside: Bool) {
    switch outcome {
    case .finished:
      let released = core.send { state, effects -> [any ProcedureDependency] in
        guard let details else { return [] }
        details.missingDependencies -= 1
        guard details.missingDependencies == 0 else { return [] }
        let step = state.machine.dependenciesSettled(member, &effects.next)
        if step == .stale { return [] }
        QueueCore.deliver(step, to: self, &effects)
        return details.dependencies.takeAll()
      }
      _ = released
    case .failed(let error):
      if isOutside { core.withState { _ in ensureDetails().failsFromOutside = true } }
      end(.failed(ProcedureError.dependencyFailed(of: identity, dependency, error)))
    case .cancelled(let reason): cancel(reason)
    case .ignored(let condition): end(.ignored(by: condition))
    }
  }

  /// The admission of a run that its caller's task brings to its queue.
  private enum Admission {
    case admitted(RunStep)
    /// The queue was shut down.
    case refused
    /// The run was admitted, and is cancelled at once (C2).
    case cancelled
  }

  /// Brings the run to its queue, in the caller's task.
  ///
  /// - Returns: The next step of the run.
  func admit(priority rawPriority: UInt8?) -> RunStep {
    _ = parent?.adopt(self)
    if let deadline = layer.traits.deadline, let lateness = lateness(deadline) {
      refuse(lateness)
      return .finish
    }
    switch arriveAtQueue(priority: rawPriority) {
    case .admitted(let step):
      startDeadline()
      return step
    case .refused:
      refuse(ProcedureError.queueShutDown(procedure: layerIdentity, queue: core.name))
      return .finish
    case .cancelled:
      startDeadline()
      cancelLikeParent()
      return core.withState { state in member >= 0 && state.machine[member].phase == .starting ? .finish : .wait }
    }
  }

  private func arriveAtQueue(priority rawPriority: UInt8?) -> Admission {
    // A run of a body on its own queue is a part of the body: it has the order of the body, and goes on with it.
    // The owner of the slot is the nearest one that can be around: deep layers do not search for it.
    let around =
      slotOwner !== self && slotOwner.core === core
      ? slotOwner : ancestors.dropFirst().first { $0.core === core && $0.slotOwner === $0 }
    let isNested = around != nil || slotOwner !== self
    let reading = core.time.reading()
    let admission = core.send { state, effects -> Admission in
      // `startStructured` may have admitted the run already.
      if member >= 0 { return .admitted(.wait) }
      guard !state.isShutDown || isNested else { return .refused }
      let enclosing = around.flatMap { $0.member >= 0 ? state.machine[$0.member] : nil }
      let own = rawPriority ?? enclosing?.priority ?? Task.currentPriority.rawValue
      attached = stamp(reading.instant).nanoseconds
      let step = core.admitted(
        self, priority: max(own, enclosing?.priority ?? 0), needs: layer.needs, order: enclosing?.order ?? 0,
        isNested: isNested,
        &state,
        &effects)
      // The graph has reported its nodes.
      if kind == .node {
        parent?.details?.graph?.nodeAdmitted(id)
      } else {
        record(.didAttach(), at: reading.instant, &effects)
      }
      return state.cancelsAdmitted ? .cancelled : .admitted(step)
    }
    guard case .admitted = admission else { return admission }
    // A parent that was cancelled before could not reach this run in its queue.
    let isCancelled = isTaskCancelled || !cleansUp && parent?.isCancelledOrStopping ?? false
    return isCancelled ? .cancelled : admission
  }
}
