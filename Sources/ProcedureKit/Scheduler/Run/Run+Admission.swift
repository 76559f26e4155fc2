extension Run {
  /// This run or, if it has finished, the nearest unfinished run that encloses it; `nil` if there is none.
  ///
  /// The run may have finished because a task can outlive the body that created it.
  var nearestUnfinished: Run? {
    for run in ancestors where run.core.read({ $0.runs[run].member >= 0 }) { return run }
    return nil
  }

  /// Admits the run, drives it in the current task, and returns its value.
  func driveToEnd<Output: Sendable>(admitted rawPriority: UInt8?, as type: Output.Type = Output.self) async throws
    -> Output
  {
    let parent = parent
    if let parent, !usesSlotOfBody, kind != .graphWorker {
      // The run has its own slot, so the enclosing body releases its slot while it waits for the run (Q3).
      await parent.withSlotReleased(for: .run(self), at: self) { await admitAndDrive(priority: rawPriority) }
      parent.didAwait(identity)
    } else {
      await admitAndDrive(priority: rawPriority)
    }
    guard let outcome else { preconditionFailure("\(layerIdentity) ended without an outcome") }
    if let value = outcome.value { return value as! Output }
    if usesSlotOfBody, let parent {
      // A cancelled layer ends without reacquiring the slot and the resources that it released for a pause. A call or a node has released
      // no resources, and its parent need not hold any: the call can come from a condition, an end hook, or a task that a body left behind.
      if kind == .layer, let error = await parent.reclaim([parent] + parent.enclosingLayers) { throw error }
      await parent.reacquireSlot(of: slotOwner)
    }
    return try outcome.map { $0 as! Output }.get(of: layerIdentity)
  }

  /// Admits the run and drives it in the current task until it finishes.
  @inline(__always)
  private func admitAndDrive(priority rawPriority: UInt8?) async {
    let step = admit(priority: rawPriority)
    await drive(from: step)
    if hasKeyOfNode { await slotOwner.switchKey(to: slotOwner) }
  }

  // MARK: Admission

  /// The result of admitting a run that its caller's task drives.
  private enum Admission {
    case admitted(RunStep)
    /// The queue was shut down.
    case refused
    /// The run was admitted and is cancelled immediately (C2).
    case cancelled
  }

  /// Admits a run that the caller's task drives.
  ///
  /// - Returns: The first step of the run; `finish` if the run was refused, or was cancelled before it started (C2).
  func admit(priority rawPriority: UInt8?) -> RunStep {
    if let deadline = layer.traits.deadline, let lateness = lateness(deadline) {
      _ = parent?.adopt(self)
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

  /// Adds the run to its parent and to the machine, unless the queue is shut down. A nested run is admitted even then (Q4).
  private func enterQueue(priority rawPriority: UInt8?) -> Admission {
    // A run within a body on the same queue is nested: it takes its position in the order of admission, and its priority, from the body,
    // and is not held back. The search begins with the owner of the slot, which is the nearest enclosing body, so that deeply nested layers
    // do not visit all of their ancestors.
    let around =
      slotOwner !== self && slotOwner.core === core
      ? slotOwner : ancestors.dropFirst().first { $0.core === core && $0.slotOwner === $0 }
    let isNested = around != nil || slotOwner !== self
    let reading = core.time.lazyReading()
    // A parent on another queue adopts the run under that queue's lock. Any other parent adopts the run in the critical section of the
    // admission.
    let parentHere = parent?.core === core ? parent : nil
    if parentHere == nil { _ = parent?.adopt(self) }
    var progress: ProgressNode?
    let admission = core.send { state, effects -> Admission in
      // `startStructured` may have already admitted the run.
      if state.runs[self].member >= 0 { return .admitted(.wait) }
      progress = parentHere?.adopt(self, isProduced: false, &state.runs).progress
      guard !state.isShutDown || isNested else { return .refused }
      let place = around.map { state.runs[$0].member } ?? -1
      let enclosing = place >= 0 ? state.machine[place] : nil
      let own = rawPriority ?? enclosing?.priority ?? Task.currentPriority.rawValue
      let step = core.admitted(
        self, priority: max(own, enclosing?.priority ?? 0), needs: layer.needs, order: enclosing?.order ?? 0,
        isNested: isNested, at: reading, &state, &effects)
      if state.cancelsAdmitted && !cancellationScope.isShielded { return .cancelled }
      // If the parent was cancelled before it adopted the run, it could not cancel the run, so the run is cancelled here.
      let isParentCancelled = parentHere.map { state.runs[$0].details.isCancelledOrStopping } ?? false
      return isParentCancelled && !cancellationScope.cleansUp ? .cancelled : .admitted(step)
    }
    progress?.adopt(self)
    guard case .admitted = admission else { return admission }
    let isParentCancelled = parentHere == nil && parent?.isCancelledOrStopping ?? false
    return isTaskCancelled || isParentCancelled && !cancellationScope.cleansUp ? .cancelled : admission
  }

  // MARK: Before the body

  /// Evaluates the conditions (K1).
  ///
  /// - Returns: The next step; `nil` for an added run, which is advanced by the decision rather than by this task.
  func evaluate() async -> RunStep? {
    let conditions = core.read { $0.runs[self].closures }?.conditions.elements ?? []
    let work = CancellableTask()
    let wait = RunWait.conditions(conditions.map(\.name))
    if isDrivenByWorker {
      addWait(wait, work)
      // The decision advances the run. This task continues until all conditions have ended, including those that ignore cancellation (K1).
      await withTaskAndRunCancellationHandler {
        await evaluate(conditions, by: work) {
          self.removeWait(work)
          self.conditionsDecided($0)
        }
      } onCancel: {
        work.cancel()
      }
      removeWait(work)
      return nil
    }
    // A nested run releases the slot of the enclosing body while the conditions are evaluated (Q3).
    let evaluation = await withSlotOfBodyReleased(for: wait, at: work) {
      leavesConditionsBehind ? await self.decision(of: conditions) : await self.evaluation(of: conditions, by: work)
    }
    if isTaskCancelled { cancelLikeParent() }
    if let evaluation { conditionsDecided(evaluation) }
    return .wait
  }

  /// Evaluates conditions in a child of this task, with the context and the executor of the run (K1).
  ///
  /// `decide` is not called if the run has ended, or if its queue was suspended before the evaluation (Q2).
  func evaluate(
    _ conditions: [Condition], by work: CancellableTask, decide: @escaping Condition.Decision
  ) async {
    await withBindings {
      await ProcedureContext.bound.withValue(.init(self)) {
        await withTaskExecutorPreference(self.core.executor) {
          await work.execute(startsAtOnce: false) {
            if self.core.send({ state, _ in state.machine.evaluationStarts(state.runs[self].member) }) {
              await Condition.evaluateAll(conditions, decide: decide)
            }
          }
        }
      }
    }
  }

  /// Advances the run after a decision about its conditions.
  private func conditionsDecided(_ evaluation: ConditionEvaluation) {
    let outcome = outcome(of: evaluation)
    core.send { state, effects in
      // The evaluation continues until all conditions have ended (K1).
      if let outcome { return endWithoutStart(outcome, interrupts: false, &state, &effects) }
      let step = state.machine.conditionsSatisfied(state.runs[self].member, &effects.next)
      QueueCore.deliver(step, to: self, &state.runs, &effects)
    }
  }

  /// Evaluates conditions and waits until all of their tasks have ended. Returns `nil` if the conditions were not evaluated.
  func evaluation(of conditions: [Condition], by work: CancellableTask) async -> ConditionEvaluation? {
    let decision = ResultBox<ConditionEvaluation>()
    await withTaskAndRunCancellationHandler {
      await evaluate(conditions, by: work) { decision.store(.success($0)) }
    } onCancel: {
      work.cancel()
    }
    return try? decision.result?.get()
  }

  /// Evaluates conditions and waits only for the decision. Returns `nil` if the run was cancelled first, or if the conditions were not
  /// evaluated.
  private func decision(of conditions: [Condition]) async -> ConditionEvaluation? {
    let (decision, decisionSignal) = (ResultBox<ConditionEvaluation>(), OneShotSignal())
    let task = Spawner.startEvaluation(executor: core.executor) { [self] in
      await evaluate(conditions, by: CancellableTask()) {
        decision.store(.success($0))
        decisionSignal.signal()
      }
      decisionSignal.signal()
    }
    await withTaskAndRunCancellationHandler {
      await decisionSignal.waitUntilResolved()
    } onCancel: {
      task.cancel()
      decisionSignal.cancel()
    }
    if isTaskCancelled { cancelLikeParent() }
    // A condition produced a child, and the child failed. The conditions were cancelled, but the run was not, so it waits for their
    // decision.
    if decision.result == nil, core.read({ $0.runs[self].details.cancellation == nil && !$0.runs[self].isDecided }) {
      await task.value
    }
    return try? decision.result?.get()
  }

  /// Returns the outcome of a run whose conditions are not satisfied; `nil` if they are (K1).
  func outcome(of evaluation: ConditionEvaluation) -> RunOutcome.Failure? {
    switch evaluation {
    case .satisfied: nil
    case .ignored(let condition): .ignored(by: condition)
    case .failed(let condition, let error):
      .failed(ProcedureError.conditionFailed(procedure: layerIdentity, condition: condition, underlying: error))
    }
  }

  /// Starts the delay of the layer. Returns `wait` if a timer was started; otherwise, returns the next step.
  func startPause() -> RunStep {
    let delay = core.read { $0.runs[self].details.pause.end == nil ? layer.traits.delay : nil }
    return pause(for: delay ?? .zero)
  }

  /// Starts a pause. Returns `wait` if a timer was started; otherwise, returns the next step.
  func pause(for duration: Duration) -> RunStep {
    guard duration > .zero else {
      return core.send { state, effects in state.machine.pauseEnded(state.runs[self].member, &effects.next) }
    }
    let timers = core.timers
    let end = timers.now.advanced(by: duration.saturated.roundedUpToNanoseconds)
    core.update { $0[self].details.pause.end = end }
    let timer = timers.schedule(at: end) { [self] in
      core.send { state, effects in
        let step = state.machine.pauseEnded(state.runs[self].member, &effects.next)
        if step != .stale { state.runs[self].details.pause.timer = nil }
        QueueCore.deliver(step, to: self, &state.runs, &effects)
      }
    }
    let isPausing = core.send { state, _ in
      guard state.machine.phase(of: state.runs[self].member) == .pausing else { return false }
      state.runs[self].details.pause.timer = timer
      return true
    }
    // The run was cancelled, or the timer has already fired.
    if !isPausing { timers.cancel(timer) }
    return .wait
  }

  /// Claims the resources of the layer and, after a pause, those of the enclosing layers in the same claim (R1, R2).
  ///
  /// - Parameter startsInline: Whether the body starts in the same critical section, if the resources and a slot are free.
  /// - Returns: The next step if the claim is granted immediately; otherwise `wait`.
  func claim(startsInline: Bool = false) -> RunStep {
    let answer: ResourceTable.Answer
    // After a pause, the run claims its resources again, together with those of the enclosing layers.
    if kind == .layer, core.read({ $0.runs[self].hasStarted }) {
      core.update { $0[self].details.claim.hasReclaimed = true }
      answer = core.resources.request(([self] + enclosingLayers).lackingResources, for: self)
    } else {
      answer = core.resources.request(layer.traits.demands.elements, for: self)
    }
    switch answer {
    case .granted:
      let reading = core.time.lazyReading()
      let step = core.send { state, effects in
        let step = nextStepWithClaim(&state, &effects)
        if startsInline, step == .start { startBody(at: reading, &state, &effects) }
        return step
      }
      if step != .stale { return step }
    case .waits: break
    case .refused(let error): claimRefused(error)
    }
    // If the run ended before it made the claim, there was nothing to release at that time, so the claim is released here (R3).
    if core.read({ $0.runs[self].isDecided }) { core.resources.ended(self) }
    return .wait
  }

  /// Returns the next step of a run whose claim was granted; `stale` if the run was cancelled first.
  private func nextStepWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) -> RunStep {
    let step = state.machine.claimGranted(state.runs[self].member, &effects.next)
    if step != .stale, kind == .layer, state.runs[self].hasStarted {
      enclosingLayers.releaseClaimsOfEnded(state.runs, &effects)
    }
    guard step == .releaseClaim else { return step }
    // The queue was suspended while the run was waiting for the resources (R2).
    releaseHeldClaim(&effects)
    return .wait
  }

  /// Releases the resources of a run that claims them again when its queue is resumed, or of a layer that has ended (R2).
  ///
  /// This function takes the resource table's lock while the queue's lock is held.
  func releaseHeldClaim(_ effects: inout QueueCore.Effects) {
    for other in core.resources.giveBack(self) { effects.add(.resumeClaimants(other)) }
  }

  /// Advances the run, or resumes the bodies that are reclaiming resources, after the waiting claim of the run is granted (R1).
  func resumeClaimants() {
    let reclaiming = core.read { $0.runs[self].details.claim.reclaiming }
    guard reclaiming.isEmpty else {
      // If the claim has been released since it was granted, no body is signalled.
      for (signal, layer) in reclaiming where core.resources.isHeld(by: layer) { signal.signal() }
      return
    }
    core.send { state, effects in advanceWithClaim(&state, &effects) }
  }

  /// Advances the run after its waiting claim is granted. Bodies that are reclaiming resources are resumed after the lock is released (R1).
  func advanceWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    if !state.runs[self].details.claim.reclaiming.isEmpty { return effects.add(.resumeClaimants(self)) }
    QueueCore.deliver(nextStepWithClaim(&state, &effects), to: self, &state.runs, &effects)
  }

  /// Fails the run, or passes the error to the reclaiming bodies, because the claim was refused.
  ///
  /// A claim is refused if it would otherwise wait forever (R4).
  func claimRefused(_ error: ProcedureError) {
    core.send { state, effects in
      if !state.runs[self].details.claim.reclaiming.isEmpty {
        state.runs[self].details.claim.refusal = error
        return effects.send(state.runs[self].details.claim.reclaiming.takeAll().map(\.signal))
      }
      guard state.machine.claimRefused(state.runs[self].member) else { return }
      endWithoutStart(.failed(error), interrupts: false, hasStopped: true, &state, &effects)
    }
  }
}
