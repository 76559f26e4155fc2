/// The end of a run. Each verb has one meaning:
///
/// | verb | meaning |
/// |---|---|
/// | end | A body, a wait, or a pause is over. |
/// | cancel, stop | Other code, such as the owner, an enclosing run, or a limit, requests that the run end, or the body has to end because a child failed. |
/// | interrupt | A cancellation, a stop, or the outcome of a dependency reaches the run and everything within it (`Run.interrupt`). |
/// | refuse | A run fails without being admitted. |
/// | decide | The outcome becomes final, so that later cancellations are ignored (C1). |
/// | publish | The outcome becomes visible to other runs and to callers (L4). |
/// | finish | A run goes through everything that follows its body. It has finished when its outcome is published. |
extension Run {
  /// Finishes the run: awaits its children, decides the outcome, releases the slot and the resources, calls the end hooks, and publishes
  /// the outcome (L3, L4).
  func finish() async {
    if isFinished { return }
    if isInterruptedInPause, let hooks = recordBodyEnd(nil) {
      // The pause ended outside of the body's context (Q5).
      await withBindings {
        await ProcedureContext.bound.withValue(.init(self)) {
          await self.callDidExecuteHooks(hooks, .failure(CancellationError()))
        }
      }
    }
    var decided = decide()
    // Some children that the body produced have not finished, so the run waits for them before its outcome is decided.
    while decided == nil {
      await waitForChildren()
      if let child = core.read({ $0.runs[self].details.children.last }) { didAwait(child) }
      decided = decide()
    }
    guard let outcome = decided else { return }
    guard layer.hasEndHooks else { return publish(outcome, isLast: true) }
    guard isDrivenByWorker else {
      // The task of the caller, or of the enclosing body, can be cancelled at any time.
      try? await Spawner.runShielded(executor: core.executor) { await self.callHooksAndPublish(outcome) }
      return
    }
    // The outcome has been decided, so no later cancellation reaches the worker's task. An earlier one may still be about to reach it.
    let isCancelled =
      Task.isCancelled || core.read { $0.runs[self].worker >= 0 && $0.runs[self].details.isCancelledOrStopping }
    guard isCancelled else { return await callHooksAndPublish(outcome) }
    // End hooks must not be cancelled, so they are called in a different task (L3).
    core.startTask { await self.callHooksAndPublish(outcome) }
  }

  /// Calls the end hooks and publishes the outcome between `onWillFinish` and `onDidFinish` (L3).
  private func callHooksAndPublish(_ outcome: RunOutcome) async {
    // End hooks execute without a slot (L3), so a nested run releases the slot of the enclosing body.
    await withSlotOfBodyReleased {
      let published = await ProcedureContext.bound.withValue(.init(self)) {
        await callHooks(beforeEnd: outcome)
      }
      let hooks = core.read { $0.runs[self].closures }?.hooks.didFinish ?? []
      // The parent of a produced child waits only until the child's outcome is published. The caller of any other nested run also awaits
      // the `onDidFinish` hooks of that run.
      let waiting = hooks.isEmpty || kind == .added ? nil : parent
      publish(published, isLast: false)
      if let waiting { waiting.core.update { $0[waiting].details.children.awaitedInHooks[id] = self } }
      await ProcedureContext.bound.withValue(.init(self)) {
        for hook in hooks { await hook(published) }
      }
      if let waiting { _ = waiting.core.update { $0[waiting].details.children.awaitedInHooks.removeValue(forKey: id) } }
      // The references are released after the lock is released.
      _ = core.send { state, effects in
        removeFromMachine(&state, &effects)
        return detachReferences(keepingHooks: false, &state.runs)
      }
    }
  }

  /// Whether the run was interrupted between two executions of the body. If so, no result of the body is recorded.
  var isInterruptedInPause: Bool {
    layer.repeats && core.read { hasStarted($0) && $0.runs[self].details.result == nil }
  }

  /// Finishes a run that has no hooks, without suspending. Returns `false` if the run first has to wait for children.
  func finishWithoutSuspending() -> Bool {
    let isInterruptedInPause = isInterruptedInPause
    guard let outcome = decide() else { return false }
    // If the run has to wait for children, `finish` records the end of the body.
    if isInterruptedInPause { recordBodyEnd(nil) }
    publish(outcome, isLast: true)
    return true
  }

  // MARK: The outcome

  private enum Ending: Sendable {
    case decided(RunOutcome, Holdings, abandoned: (any Repetition)?)
    /// Some children that the body produced have not finished. They are cancelled if the body has failed and the run does not collect
    /// failures.
    case awaitsChildren([Run], ProcedureFailure?)
  }

  /// Releases the slot, decides the outcome, and releases the resources (R2, L4). If the body has failed, its children are cancelled first
  /// (D4). A later cancellation is ignored (C1).
  ///
  /// - Returns: The outcome; `nil` if some children that the body produced have not finished.
  private func decide() -> RunOutcome? {
    cancelIfTaskIsCancelled()
    let ending = core.send { state, effects -> Ending in
      state.machine.bodyEnded(state.runs[self].member, &effects.next)
      if state.runs[self].details.children.producedCount > 0 {
        let children = state.runs[self].details.children
        guard case .failure(let error)? = state.runs[self].details.result, failurePolicy != .collect else {
          return .awaitsChildren([], nil)
        }
        let failure = ProcedureFailure(procedure: identity, error: error)
        return .awaitsChildren(children.byID.inOrder, children.failures.first ?? failure)
      }
      let (outcome, pause) = (decidedOutcome(state.runs), state.runs[self].details.pause)
      return .decided(outcome, markDecided(&state.runs), abandoned: pause.isRetrying ? pause.repetition : nil)
    }
    switch ending {
    case .awaitsChildren(let children, let failure):
      for child in children { child.cancel(inheritedReason ?? failure.map { .stopped(identity, by: $0) }) }
      return nil
    case .decided(let outcome, let holdings, let abandoned):
      abandoned?.attemptAbandoned()
      for other in release(holdings) { other.resumeClaimants() }
      return outcome
    }
  }

  /// The timers of a run, and whether the run might have a claim.
  typealias Holdings = (timers: [TimerHeap.ID], mayClaim: Bool)

  /// Marks the outcome as decided, so that a task that outlives the body starts no timer and claims nothing. The caller must then call
  /// `release`.
  @inline(__always)
  func markDecided(_ runs: inout RunTable) -> Holdings {
    runs[self].decide()
    return (runs[self].changeDetails { $0.timers.takeAll() } ?? [], mayClaim(runs))
  }

  /// Cancels the timers of a run and releases its resources, before its end hooks are called and its end is published (R2, L4). Returns the
  /// runs whose claims are granted as a result.
  @inline(__always)
  func release(_ holdings: Holdings) -> [Run] {
    for timer in holdings.timers { core.timers.cancel(timer) }
    return holdings.mayClaim ? core.resources.giveBack(self) : []
  }

  /// Returns the outcome, which depends on the first of these that applies: an end without a start, a cancellation, a failed child, or the
  /// body's result.
  private func decidedOutcome(_ runs: borrowing RunTable) -> RunOutcome {
    if let outcome = runs[self].details.outcomeWithoutStart { return RunOutcome(outcome) }
    if let cancellation = runs[self].details.cancellation { return cancellation.outcome }
    let result = runs[self].details.result ?? .failure(CancellationError())
    let failures = runs[self].details.children.failures
    guard let first = failures.first else { return RunOutcome(result) }
    if failurePolicy != .collect { return RunOutcome(thrown: first.error) }
    var all = failures
    if case .failure(let error) = result { all.append(ProcedureFailure(procedure: identity, error: error)) }
    return .failed(ProcedureError.childrenFailed(procedure: identity, failures: all))
  }

  // MARK: Hooks

  /// Calls `onDidCancel` and `onWillFinish`. Returns the outcome, which a throwing hook changes to a failure unless the run was cancelled
  /// (L3).
  private func callHooks(beforeEnd decided: RunOutcome) async -> RunOutcome {
    var outcome = decided
    let hooks = core.read { $0.runs[self].closures }?.hooks ?? ModifierLayer.Hooks()
    if case .cancelled(let reason)? = decided.failure {
      for hook in hooks.didCancel { await hook(reason) }
    }
    for hook in hooks.willFinish {
      do {
        try await hook(outcome)
      } catch {
        if !outcome.wasCancelled { outcome = .failed(error) }
      }
    }
    return outcome
  }

  // MARK: Publishing

  /// Publishes the outcome, releases the references that the run no longer needs, and reports the end to the parent (L4).
  private func publish(_ outcome: RunOutcome, isLast: Bool) {
    let stop = stopParent(after: outcome)
    let reading = core.time.lazyReading()
    let released = core.send { state, effects in
      publish(outcome, at: reading, isLast: isLast, &state, &effects)
      return detachReferences(keepingHooks: !isLast, &state.runs)
    }
    if let details = released.details {
      for dependency in details.dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
      details.log?.close()
    }
    notifyParent(stop)
  }

  /// The relation of the run to the parent that produced it; `none` if no parent did.
  private var production: RunDetails.Children.Production {
    kind == .added ? core.read { $0.runs[self].details.children.production } : .none
  }

  /// Stops the parent if the run is a child that failed (D4). This function must be called before the end of the run becomes visible.
  /// Otherwise, a condition of the parent that awaits the run could decide the outcome of the parent, or let the parent start.
  private func stopParent(after outcome: RunOutcome) -> Stop? {
    guard case .failed(let error) = outcome.withoutValue, let parent, production == .child else { return nil }
    return parent.childFails(self, error)
  }

  /// Reports the end of the run to its parent.
  func notifyParent(_ stop: Stop? = nil) {
    parent?.childFinished(self, as: production, stop)
  }

  /// Publishes the outcome and, unless hooks follow, removes the run from the machine (L4).
  ///
  /// This function also publishes the last events, and resumes the tasks and runs that are waiting for the run. If the run has details or
  /// a body, the caller must then detach its references.
  func publish(
    _ outcome: RunOutcome, at reading: QueueClock.Reading, isLast: Bool, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    state.runs[self].decide()
    if state.runs[self].ended < 0, keepsInstants { state.runs[self].endBody(at: core.time.instant(of: reading)) }
    if isReported {
      let metrics = state.machine.meters == nil ? nil : metrics(at: core.time.instant(of: reading), state)
      if let metrics, kind == .added || kind == .bodyOnlyNode { state.runs[self].metrics = metrics }
      record(at: core.time.instant(of: reading), &state, &effects) { _ in
        .init(step: .willFinish(outcome.withoutValue))
      }
      record(at: core.time.instant(of: reading), &state, &effects) { _ in
        .init(step: .didFinish(outcome.withoutValue), metrics: metrics)
      }
      if core.configuration.collectsTotals { state.count(self, outcome, metrics) }
      if !state.ends.isEmpty { core.addEnd(of: self, outcome.withoutValue, &state, &effects) }
      core.collectFailure(outcome, of: self, &state, &effects)
      if let exchange = layer.traits.exchange { effects.add(.elementEnded(exchange, self)) }
    }
    let listeners = state.runs[self].changeDetails { details in
      // The progress is complete before a waiting task continues.
      if let progress = details.extensions.progress { effects.add(.progressEnded(progress, outcome.withoutValue)) }
      effects.send(details.observers.waiters.inOrder)
      details.observers.waiters = [:]
      defer { details.observers.listeners = [:] }
      return details.observers.listeners.inOrder.flatMap(\.self)
    }
    state.runs.setOutcome(outcome, of: self)
    if let listeners, !listeners.isEmpty {
      for listener in listeners { inform(listener, outcome.withoutValue, at: reading, &state, &effects) }
      effects.add(.release(listeners))
    }
    if isLast { removeFromMachine(&state, &effects) }
  }

  /// The references that a run needs only until it ends. They are released after the lock is released.
  struct ReleasedReferences: Sendable {
    let body: Body?
    let closures: ModifierLayer.Closures?
    /// The references that the details of the run contained; `nil` if the run has no details.
    let details: RunDetails.References?
  }

  /// Removes and returns the references that the run no longer needs. They are released, and the log is closed, after the lock is released.
  @inline(__always)
  func detachReferences(keepingHooks: Bool, _ runs: inout RunTable) -> ReleasedReferences {
    ReleasedReferences(
      body: runs[self].body.take(), closures: keepingHooks ? nil : runs[self].closures.take(),
      details: runs[self].changeDetails { RunDetails.References(takenFrom: &$0) })
  }

  /// Removes the run from the machine and signals the tasks that are waiting for the queue to become idle (Q4).
  private func removeFromMachine(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    let member = state.runs[self].member
    guard member >= 0 else { return }
    state.machine.finished(member)
    state.runs.remove(self, isLast: state.machine.members.isEmpty)
    if state.awaitingBodies > 0, kind == .added || kind == .structured { state.latestEnd = identity }
    QueueCore.wakeIfIdle(&state, &effects)
  }

  // MARK: Runs that do not start

  /// Ends a run whose body is not executing, and decides its outcome (C2). Does nothing if the body is starting or executing, or if the
  /// outcome is already decided.
  ///
  /// If `interruptsStep` is `true`, the step in progress ends as well, so that neither an evaluation of conditions nor a timer outlives the
  /// run.
  func finishWithoutStart(
    _ outcome: RunOutcome.Failure, interruptsStep: Bool, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    guard !state.runs[self].isDecided, state.machine.interrupted(state.runs[self].member) else { return }
    decideWithoutStart(outcome, interruptsStep: interruptsStep, &state, &effects)
  }

  /// Decides the outcome of a run that the machine has ended before its start. The run's driver then finishes the run.
  func decideWithoutStart(
    _ outcome: RunOutcome.Failure, interruptsStep: Bool, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    state.runs[self].details.outcomeWithoutStart = outcome
    state.runs[self].decide()
    guard interruptsStep else { return QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
    interrupt(finishesAtOnce: true, &state, &effects) { self.inheritedReason }
  }

  /// Refuses the run, which fails without being admitted.
  func refuse(_ error: any Error) {
    publish(.failed(error), isLast: true)
  }
}
