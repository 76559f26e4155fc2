extension Run {
  var hasHooksOfEnd: Bool {
    layer.hasHooksOfEnd || (isReported && core.hooks?.hasFinishHooks ?? false)
  }

  /// Ends the run: awaits its children, decides, gives everything back, calls the hooks of the end, and publishes the outcome.
  func finish() async {
    if outcome != nil { return }
    if endsPausedBody, let hooks = bodyEnded(nil) { await callDidExecuteHooks(hooks, .failure(CancellationError())) }
    var decided = decide()
    while decided == nil {
      await settle()
      if let child = core.read({ $0.runs[self].details.children.last }) { didAwait(child) }
      decided = decide()
    }
    guard let outcome = decided else { return }
    guard hasHooksOfEnd else { return publish(outcome, isLast: true) }
    // The hooks of the end are called in a task that is not cancelled.
    if isDrivenByWorker, Task.isCancelled { return core.startTask { await self.callHooksAndPublish(outcome) } }
    await callHooksAndPublish(outcome)
  }

  private func callHooksAndPublish(_ outcome: Outcome) async {
    // The hooks of a part hold no slot either.
    await withSlotOfBodyReleased {
      let published = await ProcedureContext.bound.withValue(ProcedureContext(self)) {
        await callHooks(beforeEnd: outcome)
      }
      publish(published, isLast: false)
      await ProcedureContext.bound.withValue(ProcedureContext(self)) { await callHooks(afterEnd: published) }
      removeFromMachine()
    }
  }

  /// Whether a cancel has ended the pause of a body that has started, as that of a repeat.
  var endsPausedBody: Bool {
    layer.repeats && core.read { $0.runs[self].hasStarted && $0.runs[self].details.result == nil }
  }

  /// Ends a run that has no hooks. Returns `false` if there are children to wait for.
  func finishAtOnce() -> Bool {
    if endsPausedBody { bodyEnded(nil) }
    guard let outcome = decide() else { return false }
    publish(outcome, isLast: true)
    return true
  }

  // MARK: Children

  /// Waits for the produced children, without a slot (C1).
  private func settle() async {
    await withSlotOfBodyReleased {
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          core.update { runs in
            guard runs[self].details.children.producedCount > 0 else { return false }
            runs[self].details.children.settling = waiter
            return true
          }
        }
      } onCancel: {
        if !isDrivenByWorker, !ignoresTaskCancellation { cancelLikeParent() }
      }
    }
  }

  // MARK: The outcome

  private enum Ending: Sendable {
    case decided(Outcome, [TimerHeap.ID], abandoned: (any Repetition)?)
    /// Produced children have not ended. They are cancelled if the body has failed and the policy is to fail fast.
    case settles([Run], ProcedureFailure?)
  }

  /// Gives back the slot, and decides the outcome: a cancel that comes after is ignored. The resources are given back, too (C1).
  ///
  /// - Returns: The outcome; `nil` while there are produced children to wait for.
  private func decide() -> Outcome? {
    if isTaskCancelled { cancelLikeParent() }
    let ending = core.send { state, effects -> Ending in
      state.machine.bodyEnded(state.runs[self].member, &effects.next)
      if state.runs[self].details.children.producedCount > 0 {
        let children = state.runs[self].details.children
        guard case .failure(let error)? = state.runs[self].details.result, errorPolicy != .continue else {
          return .settles([], nil)
        }
        let failure = ProcedureFailure(procedure: identity, error: error)
        return .settles(children.byID.inOrder, children.failures.first ?? failure)
      }
      state.runs[self].isDecided = true
      let outcome = decidedOutcome(state.runs)
      let timers = state.runs[self].changeDetails { $0.timers.takeAll() } ?? []
      let pause = state.runs[self].details.pause
      return .decided(outcome, timers, abandoned: pause.isRetrying ? pause.repetition : nil)
    }
    switch ending {
    case .settles(let children, let failure):
      for child in children { child.cancel(inheritedReason ?? failure.map { .stopped(identity, by: $0) }) }
      return nil
    case .decided(let outcome, let timers, let abandoned):
      abandoned?.attemptAbandoned()
      for timer in timers { core.timers.cancel(timer) }
      if core.read({ mayClaim($0.runs) }) { core.resources.ended(self) }
      return outcome
    }
  }

  private func decidedOutcome(_ runs: borrowing RunTable) -> Outcome {
    if let refusal = runs[self].details.refusal { return refusal }
    if let cancellation = runs[self].details.cancellation { return outcome(of: cancellation) }
    let result = runs[self].details.result ?? .failure(CancellationError())
    let failures = runs[self].details.children.failures
    guard let first = failures.first else { return Outcome(result) }
    if errorPolicy != .continue { return Outcome(thrown: first.error) }
    var all = failures
    if case .failure(let error) = result { all.append(ProcedureFailure(procedure: identity, error: error)) }
    return .failed(ProcedureError.partsFailed(procedure: identity, failures: all))
  }

  /// Returns the outcome of a cancelled run: after a timeout or a deadlock of this run it has failed, otherwise it is cancelled (C5, R4).
  func outcome(of cancellation: RunDetails.Cancellation) -> Outcome {
    if let error = cancellation.reason as? ProcedureError, error.procedure == layerIdentity,
      error.kind == .timedOut || error.kind == .exclusionDeadlock
    {
      return .failed(error)
    }
    return .cancelled(reason: cancellation.reason)
  }

  // MARK: Hooks

  private func callHooks(beforeEnd decided: Outcome) async -> Outcome {
    var outcome = decided
    let (closures, cancellation) = core.read { state in
      // The run was refused before it was cancelled.
      let isRefused = state.runs[self].details.refusal != nil
      return (state.runs[self].closures, isRefused ? nil : state.runs[self].details.cancellation)
    }
    let hooks = closures?.hooks ?? ModifierLayer.Hooks()
    let queueHooks = isReported ? core.hooks : nil
    if let cancellation {
      for hook in hooks.didCancel.elements { await hook(cancellation.reason) }
      await queueHooks?.onDidCancel?(identity, cancellation.reason)
    }
    func attempt(_ hook: (Outcome) async throws -> Void) async {
      do {
        try await hook(outcome)
      } catch {
        if !outcome.wasCancelled { outcome = .failed(error) }
      }
    }
    for hook in hooks.willFinish.elements { await attempt(hook) }
    if let hook = queueHooks?.onWillFinish { await attempt { try await hook(identity, $0.withoutValue) } }
    return outcome
  }

  private func callHooks(afterEnd outcome: Outcome) async {
    for hook in core.read({ $0.runs[self].closures })?.hooks.didFinish.elements ?? [] { await hook(outcome) }
    if isReported { await core.hooks?.onDidFinish?(identity, outcome.withoutValue) }
  }

  // MARK: Publishing

  /// Makes the outcome visible. Wakes those that wait for the run.
  private func publish(_ outcome: Outcome, isLast: Bool) {
    let reading = core.time.reading()
    let (parent, released, log) = core.send { state, effects -> (Run?, ReleasedReferences, EventLog?) in
      publish(outcome, at: reading, &state, &effects)
      if isLast { removeFromMachine(&state, &effects) }
      let released = detachReferences(keepingHooks: !isLast, &state.runs)
      return (self.parent, released, state.runs[self].details.observers.log)
    }
    for dependency in released.dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
    log?.close()
    if let parent {
      parent.childEnded(self, outcome.withoutValue, as: core.read { $0.runs[self].details.children.production })
    }
  }

  /// Makes the outcome visible, with the events of the end, and wakes those that wait for the run (L4).
  func publish(
    _ outcome: Outcome, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    state.runs[self].isDecided = true
    if state.runs[self].ended < 0, kind == .added {
      state.runs[self].end(at: reading.instant)
    }
    if isReported {
      let metrics = state.machine.meters == nil ? nil : metrics(at: reading.instant, state)
      if let metrics, kind == .added || kind == .bareNode { state.runs[self].metrics = metrics }
      record(at: reading.instant, &state, &effects) { _ in .willFinish(outcome.withoutValue) }
      record(at: reading.instant, &state, &effects) { _ in .didFinish(outcome.withoutValue, metrics) }
      if core.collectsTotals { state.count(self, outcome, metrics) }
      core.ended(self, outcome, &state, &effects)
    }
    state.runs[self].changeDetails { details in
      effects.call(details.observers.waiters.inOrder)
      details.observers.waiters = [:]
      if let progress = details.extensions.progress { effects.add(.notify(progress.ended, outcome.withoutValue)) }
      for listener in details.observers.listeners.inOrder {
        effects.add(.notify(listener, outcome.withoutValue))
      }
      details.observers.listeners = [:]
    }
    state.runs.setOutcome(outcome, of: self)
  }

  /// Leaves the machine: nothing more is done for the run.
  private func removeFromMachine() {
    let released = core.send { state, effects in
      removeFromMachine(&state, &effects)
      return detachReferences(keepingHooks: false, &state.runs)
    }
    _ = released
  }

  /// The references of a run until its end, released after the lock has been left.
  struct ReleasedReferences: Sendable {
    let body: Body?
    let closures: ModifierLayer.Closures?
    /// The dependencies that have not all ended.
    let dependencies: [any ProcedureDependency]
    let others: [any Sendable]
  }

  func detachReferences(keepingHooks: Bool, _ runs: inout RunTable) -> ReleasedReferences {
    let (dependencies, others) =
      runs[self].changeDetails { ($0.dependencies.handles.takeAll(), $0.takeReferences()) } ?? ([], [])
    return ReleasedReferences(
      body: runs[self].body.take(), closures: keepingHooks ? nil : runs[self].closures.take(),
      dependencies: dependencies, others: others)
  }

  func removeFromMachine(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    let member = state.runs[self].member
    guard member >= 0 else { return }
    state.machine.finished(member)
    state.runs.remove(self, isLast: state.machine.members.isEmpty)
    QueueCore.wakeIfIdle(&state, &effects)
  }

  // MARK: Without a start

  /// Ends the run before its body has started, unless the body has.
  ///
  /// - Returns: Whether the run ends with that outcome.
  func endWithoutStart(_ outcome: Outcome, _ state: inout QueueCore.State) -> Bool {
    guard !state.runs[self].isDecided, state.machine.stopRequested(state.runs[self].member) else { return false }
    decide(refusal: outcome, &state.runs)
    return true
  }

  /// A dependency, a condition or a deadlock has decided the outcome: a cancellation that follows is ignored.
  func decide(refusal: Outcome, _ runs: inout RunTable) {
    runs[self].details.refusal = refusal
    runs[self].isDecided = true
  }

  /// Refuses the run: it ends as failed, without having been there.
  func refuse(_ error: any Error) {
    publish(.failed(error), isLast: true)
  }
}
