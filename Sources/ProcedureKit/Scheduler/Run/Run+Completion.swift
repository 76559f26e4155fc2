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
      if let child = core.withState({ _ in details?.lastChild }) { didAwait(child) }
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
  var endsPausedBody: Bool { layer.traits.mayPause && core.withState { _ in hasStarted && details?.result == nil } }

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
          core.withState { _ in
            guard let details, details.producedCount > 0 else { return false }
            details.settling = waiter
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
    case decided(Outcome, [TimerHeap.ID], abandonPause: (@Sendable () -> Void)?)
    /// Produced children have not ended. They are cancelled if the body has failed and the policy is to fail fast.
    case settles([Run], ProcedureFailure?)
  }

  /// Gives back the slot, and decides the outcome: a cancel that comes after is ignored. The resources are given back, too (C1).
  ///
  /// - Returns: The outcome; `nil` while there are produced children to wait for.
  private func decide() -> Outcome? {
    if isTaskCancelled { cancelLikeParent() }
    let ending = core.send { state, effects -> Ending in
      state.machine.bodyEnded(member, &effects.next)
      if let details, details.producedCount > 0 {
        guard case .failure(let error)? = details.result, errorPolicy != .continue else { return .settles([], nil) }
        let failure = ProcedureFailure(procedure: identity, error: error)
        return .settles(details.children.inOrder, details.failures.first ?? failure)
      }
      isDecided = true
      return .decided(
        decidedOutcome, details?.timers.takeAll() ?? [], abandonPause: details?.abandonPause.take())
    }
    switch ending {
    case .settles(let children, let failure):
      for child in children { child.cancel(inheritedReason ?? failure.map { .stopped(identity, by: $0) }) }
      return nil
    case .decided(let outcome, let timers, let abandonPause):
      abandonPause?()
      for timer in timers { core.timers.cancel(timer) }
      if core.withState({ _ in mayClaim }) { core.resources.ended(self) }
      return outcome
    }
  }

  private var decidedOutcome: Outcome {
    if let refusal = details?.refusal { return refusal }
    if let cancel = cancellation { return outcome(of: cancel) }
    let result = details?.result ?? .failure(CancellationError())
    guard let failures = details?.failures, let first = failures.first else { return Outcome(result) }
    if errorPolicy != .continue { return Outcome(thrown: first.error) }
    var all = failures
    if case .failure(let error) = result { all.append(ProcedureFailure(procedure: identity, error: error)) }
    return .failed(ProcedureError.partsFailed(procedure: identity, failures: all))
  }

  /// Returns the outcome after a cancel: a timeout or a deadlock of this run is a failure, anything else a cancel (C5, R4).
  func outcome(of cancel: Cancel) -> Outcome {
    if let error = cancel.reason as? ProcedureError, error.procedure == layerIdentity,
      error.kind == .timedOut || error.kind == .exclusionDeadlock
    {
      return .failed(error)
    }
    return .cancelled(reason: cancel.reason)
  }

  // MARK: Hooks

  private func callHooks(beforeEnd decided: Outcome) async -> Outcome {
    var outcome = decided
    let hooks = core.withState { _ in closures }?.hooks ?? ModifierLayer.Hooks()
    let queueHooks = isReported ? core.hooks : nil
    if let cancel = core.withState({ _ in cancellation }), details?.refusal == nil {
      for hook in hooks.didCancel.elements { await hook(cancel.reason) }
      await queueHooks?.onDidCancel?(identity, cancel.reason)
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
    for hook in core.withState({ _ in closures })?.hooks.didFinish.elements ?? [] { await hook(outcome) }
    if isReported { await core.hooks?.onDidFinish?(identity, outcome.withoutValue) }
  }

  // MARK: Publishing

  /// Makes the outcome visible. Wakes those that wait for the run.
  private func publish(_ outcome: Outcome, isLast: Bool) {
    let reading = core.time.reading()
    let (parent, released, log) = core.send { state, effects -> (Run?, ReleasedReferences, EventLog?) in
      publish(outcome, at: reading, &state, &effects)
      if isLast { removeFromMachine(&state, &effects) }
      return (self.parent, detachReferences(keepingHooks: !isLast), details?.log)
    }
    for dependency in released.dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
    log?.close()
    if let parent {
      parent.childEnded(self, outcome.withoutValue, as: core.withState { _ in details?.production ?? .none })
    }
  }

  /// Publishes under the lock (L4).
  func publish(
    _ outcome: Outcome, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    isDecided = true
    self.outcome = outcome
    if ended < 0, kind == .added { ended = stamp(reading.instant).nanoseconds }
    if isReported {
      let metrics = state.machine.meters == nil ? nil : metrics(at: reading.instant, state)
      if let metrics { keep(metrics) }
      record(.willFinish(outcome.withoutValue), at: reading.instant, &effects)
      record(.didFinish(outcome.withoutValue, metrics), at: reading.instant, &effects)
      if core.collectsTotals { state.count(self, outcome, metrics) }
      core.ended(self, outcome, &state, &effects)
    }
    if let details {
      effects.call(details.waiters.inOrder)
      details.waiters = [:]
      for listener in details.listeners.inOrder {
        effects.add(.notify(listener, outcome.withoutValue))
      }
      details.listeners = [:]
    }
    setFinished()
  }

  /// Leaves the machine: nothing more is done for the run.
  private func removeFromMachine() {
    let released = core.send { state, effects in
      removeFromMachine(&state, &effects)
      return detachReferences(keepingHooks: false)
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

  func detachReferences(keepingHooks: Bool) -> ReleasedReferences {
    ReleasedReferences(
      body: body.take(), closures: keepingHooks ? nil : closures.take(),
      dependencies: details?.dependencies.takeAll() ?? [], others: details?.takeReferences() ?? [])
  }

  func removeFromMachine(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    guard member >= 0 else { return }
    state.removeRun(at: member)
    member = -1
    QueueCore.wakeIfIdle(&state, &effects)
  }

  // MARK: Without a start

  /// Ends the run before its body has started, unless the body has. Called under the lock.
  ///
  /// - Returns: Whether the run ends with that outcome.
  func endWithoutStart(_ outcome: Outcome, _ state: inout QueueCore.State) -> Bool {
    guard !isDecided, state.machine.stopRequested(member) else { return false }
    decide(refusal: outcome)
    return true
  }

  /// A dependency, a condition or a deadlock has decided the outcome: a cancellation that follows is ignored. Called under the lock.
  func decide(refusal: Outcome) {
    ensureDetails().refusal = refusal
    isDecided = true
  }

  /// Refuses the run: it ends as failed, without having been there.
  func refuse(_ error: any Error) {
    publish(.failed(error), isLast: true)
  }
}
