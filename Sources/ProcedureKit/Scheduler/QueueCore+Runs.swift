extension QueueCore {
  // MARK: Structured runs

  /// Drives a run that `startStructured` did not start, and returns its value.
  @usableFromInline @concurrent
  func drive<Input: Sendable, Output: Sendable>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    run.setBody(task.body(with: input), task.closures)
    return try await run.driveToEnd(admitted: task.layer.traits.rawPriority)
  }

  /// Ends a run that `startStructured` started and `endInline` could not end: it has failed, was cancelled, or has children.
  @usableFromInline @concurrent
  func finish<Output: Sendable>(_ run: Run, _ result: Result<Output, any Error>) async throws -> Output {
    run.bodyEnded(result.map { $0 })
    await run.finish()
    guard let outcome = run.outcome else { preconditionFailure("\(run.identity) has ended without an outcome") }
    return try outcome.map { $0 as! Output }.get(of: run.identity)
  }

  // MARK: Added runs

  /// Adds a run to the queue, and returns it. If the queue refuses the run, the returned run has failed.
  ///
  /// - Complexity: O(1) without dependencies.
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

  /// Adds a run if the queue admits it at once; otherwise, counts the refusal and throws it.
  ///
  /// - Complexity: O(1) without dependencies.
  func tryAdd(
    _ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, after dependencies: [any ProcedureDependency],
    body: @escaping Run.Body
  ) throws(ProcedureError) -> Run {
    let run = Run(self, layer, .added, parent: nil, closures: closures, body: body)
    guard let error = admit(run, after: dependencies, room: .atOnce) else { return run }
    send { state, _ in state.count(run, .failed(error), nil) }
    throw error
  }

  /// The rule by which a run gets room on a queue that limits its waiting runs.
  enum RoomRule: Sendable {
    /// The run gets room according to the queue's overflow policy, and may replace a waiting run.
    case byOverflow
    /// The run gets the room that was reserved for it.
    case reserved
    /// The run gets room only if the queue has some, without replacing another run.
    case atOnce
  }

  /// Admits an added run to the queue (L1, D1).
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
    let refusal = send { state, effects -> AdmissionLimiter.Refusal? in
      if room == .reserved { state.limiter.releaseReservation(run.keyID) }
      // A body on this queue can still add runs during a shutdown, which waits for them (Q4).
      guard !state.isShutDown || isFromBody else { return .shutDown }
      var replaced: Run?
      if limitsWaiting, run.parent == nil {
        switch room {
        case .reserved: break
        case .atOnce: if let refusal = state.limiter.refusal(for: run.keyID, state.machine) { return refusal }
        case .byOverflow:
          guard let refusal = state.limiter.refusal(for: run.keyID, state.machine) else { break }
          // The queue is full, so the run replaces a waiting one, or is refused.
          replaced = Self.takeReplaceable(by: run, &state)
          guard replaced != nil else { return refusal }
        }
      }
      if !dependencies.isEmpty {
        state.runs[run].details.dependencies.handles = dependencies
        state.runs[run].details.dependencies.missingCount = dependencies.count
      }
      let step = admitted(run, priority: priority, needs: needs, after: dependencies, at: reading, &state, &effects)
      if limitsWaiting { state.limiter.addReplaceable(state.runs[run].member, of: run.keyID, state.machine) }
      // The replaced run is cancelled in the same critical section, so that it cannot start in the meantime.
      if let replaced {
        let reason = ProcedureError.replaced(procedure: replaced.identity, by: run.identity)
        replaced.mark(reason, at: reading, &state, &effects)
      }
      next = step
      if state.cancelsAdmitted { effects.add(.cancel(run)) }
      return nil
    }
    if let refusal { return refusal.error(of: run) }
    run.startDeadline()
    if next != .wait { run.advance(from: next) }
    for dependency in dependencies { watch(dependency, for: run, priority) }
    if !dependencies.isEmpty, run.mayBeAwaited { DeadlockSearch.resolveDeadlock(from: run) }
    return nil
  }

  /// Removes and returns the waiting run that a new run replaces, or returns `nil` if there is none. A run that is pausing between two
  /// attempts has started, so it is not replaced.
  private static func takeReplaceable(by run: Run, _ state: inout State) -> Run? {
    while let member = state.limiter.takeReplaceable(of: run.keyID, state.machine) {
      if let waiting = state.runs[member], !state.runs[waiting].hasStarted { return waiting }
    }
    return nil
  }

  /// Returns whether the run executes within a body on this queue, in which case it may add runs even during a shutdown.
  func isAround(_ run: Run?) -> Bool { run?.ancestors.contains { $0.core === self } ?? false }

  // MARK: Dependencies

  /// Raises a dependency to the priority of its dependent (Q7), and settles it for the dependent when it finishes (D1).
  fileprivate func watch(_ dependency: any ProcedureDependency, for run: Run, _ priority: UInt8) {
    let dependency = dependency.asRunDependency
    let other = dependency.dependencyRun
    if priority > TaskPriority.background.rawValue { other.core.raise(other, to: priority) }
    dependency.whenFinished(by: run.id) { outcome in
      run.dependencySettled(other.identity, outcome, isOutside: other.core !== self)
    }
  }
}

extension Run {
  /// The priority, in the ready queue, of the run whose slot this run uses.
  var currentPriority: UInt8 {
    let owner = slotOwner
    return owner.core.read { owner.priority($0) }
  }

  /// Returns the priority in the ready queue; 0 for a run that is not in the machine.
  func priority(_ state: borrowing QueueCore.State) -> UInt8 {
    let member = state.runs[self].member
    return member >= 0 ? state.machine[member].priority : 0
  }

  func setBody(_ body: @escaping Body, _ closures: ModifierLayer.Closures? = nil) {
    core.update { ($0[self].body, $0[self].closures) = (body, closures) }
  }

  func setBindings(_ bindings: [ContextCarrier.Binding]) { core.update { $0[self].details.bindings = bindings } }

  /// Ends the run with an outcome, unless its body has started.
  func end(_ outcome: RunOutcome) {
    core.send { state, effects in
      if endWithoutStart(outcome, &state) { QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
    }
  }

  /// Ends the run with the outcome of a dependency, unless its body has started, and interrupts the step in progress.
  ///
  /// A dependency that was added later can settle while the conditions are being evaluated, or during the delay. Without the interruption,
  /// the evaluation or the timer would outlive the run.
  private func endInterrupted(_ outcome: RunOutcome) {
    core.send { state, effects in
      guard endWithoutStart(outcome, &state) else { return }
      interrupt(endsAtOnce: true, &state, &effects) { self.inheritedReason }
    }
  }

  /// Adds a dependency to a run that has not started (D1). Returns `false` if the body has been called, or if the run has ended.
  func addDependency(_ dependency: any ProcedureDependency) -> Bool {
    let priority = core.send { state, effects -> UInt8? in
      let member = state.runs[self].member
      guard !state.runs[self].hasStarted, state.machine.phase(of: member).awaitsStart else { return nil }
      state.runs[self].details.dependencies.handles.append(dependency)
      state.runs[self].details.dependencies.missingCount += 1
      if state.machine.dependencyAdded(member) { releaseHeldClaim(&effects) }
      return state.machine[member].priority
    }
    guard let priority else { return false }
    core.watch(dependency, for: self, priority)
    // The dependency may itself be waiting for this run.
    if mayBeAwaited { DeadlockSearch.resolveDeadlock(from: self) }
    return true
  }

  /// Fails the run because its dependencies form a cycle, in which no run could ever start (R4).
  func refuseDependencies(_ error: ProcedureError) {
    let dependencies = core.update { $0[self].details.dependencies.handles.takeAll() }
    for dependency in dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
    endInterrupted(.failed(error))
  }

  /// Records that a dependency of the run has finished (D1). The last dependency lets the run advance; a dependency that did not succeed
  /// ends the run.
  func dependencySettled(_ dependency: ProcedureIdentity, _ outcome: ProcedureOutcome<Void>, isOutside: Bool) {
    switch outcome {
    case .finished:
      let released = core.send { state, effects -> [any ProcedureDependency] in
        state.runs[self].details.dependencies.missingCount -= 1
        guard state.runs[self].details.dependencies.missingCount == 0 else { return [] }
        // The step is `stale` if the run has ended, or is still in the step during which the dependency was added.
        let step = state.machine.dependenciesSettled(state.runs[self].member, &effects.next)
        QueueCore.deliver(step, to: self, &state.runs, &effects)
        return state.runs[self].details.dependencies.handles.takeAll()
      }
      _ = released
    case .failed(let error):
      if isOutside { core.update { $0[self].details.dependencies.failsFromOutside = true } }
      endInterrupted(.failed(ProcedureError.dependencyFailed(of: identity, dependency, error)))
    case .cancelled(let reason): cancel(reason)
    case .ignored(let condition): endInterrupted(.ignored(by: condition))
    }
  }

  /// The result of the admission of a run that its caller's task drives.
  private enum Admission {
    case admitted(RunStep)
    /// The queue was shut down.
    case refused
    /// The run was admitted, and is cancelled at once (C2).
    case cancelled
  }

  /// Admits a run that the caller's task drives.
  ///
  /// - Returns: The first step of the run; `finish` if the run was refused, or was cancelled before it started (C2).
  func admit(priority rawPriority: UInt8?) -> RunStep {
    _ = parent?.adopt(self)
    if let deadline = layer.traits.deadline, let lateness = lateness(deadline) {
      refuse(lateness)
      return .finish
    }
    switch enterQueue(priority: rawPriority) {
    case .admitted(let step):
      startDeadline()
      return step
    case .refused:
      refuse(ProcedureError.queueShutDown(procedure: layerIdentity, queue: core.name))
      return .finish
    case .cancelled:
      startDeadline()
      cancelLikeParent()
      // A run that already has its slot ends here, without starting its body (C2). For any other run, the cancellation delivers the next
      // step.
      return core.read { $0.machine.phase(of: $0.runs[self].member) == .starting ? .finish : .wait }
    }
  }

  /// Adds the run to the machine, unless the queue is shut down. A nested run is admitted even then (Q4).
  private func enterQueue(priority rawPriority: UInt8?) -> Admission {
    // A run within a body on the same queue is nested: it has the order and the priority of the body, and is not held back.
    // The search begins with the owner of the slot, which is the nearest enclosing body, so that deep layers do not walk all ancestors.
    let around =
      slotOwner !== self && slotOwner.core === core
      ? slotOwner : ancestors.dropFirst().first { $0.core === core && $0.slotOwner === $0 }
    let isNested = around != nil || slotOwner !== self
    let reading = core.time.lazyReading()
    let admission = core.send { state, effects -> Admission in
      // `startStructured` may have already admitted the run.
      if state.runs[self].member >= 0 { return .admitted(.wait) }
      guard !state.isShutDown || isNested else { return .refused }
      let place = around.map { state.runs[$0].member } ?? -1
      let enclosing = place >= 0 ? state.machine[place] : nil
      let own = rawPriority ?? enclosing?.priority ?? Task.currentPriority.rawValue
      let step = core.admitted(
        self, priority: max(own, enclosing?.priority ?? 0), needs: layer.needs, order: enclosing?.order ?? 0,
        isNested: isNested, at: reading, &state, &effects)
      return state.cancelsAdmitted ? .cancelled : .admitted(step)
    }
    guard case .admitted = admission else { return admission }
    // A parent that was cancelled before this admission could not cancel the run, so the run is cancelled here.
    let isCancelled = isTaskCancelled || !cancellationScope.cleansUp && parent?.isCancelledOrStopping ?? false
    return isCancelled ? .cancelled : admission
  }
}
