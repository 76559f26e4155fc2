/// Leads a run through its phases: one switch over the steps that the machine decides.
///
/// The caller of `run` loops until the end. A worker returns at a wait, and takes the next run.
///
/// `package` for `ProcedureKitDurable`.
package enum RunDriver {
  /// Runs a task without a queue: within a body as a part of this body, elsewhere without limit.
  static func run<Input, Output>(_ task: ProcedureTask<Input, Output>, _ input: Input) async throws -> Output {
    let task = task.resolved(for: input)
    if let parent = ProcedureContext.current?.run.nearestUnfinished {
      return try await drive(
        Run(
          parent.core, task.layer, .call, parent: parent, attempt: Int(parent.attempt), slotOf: parent.slotOwner,
          closures: task.closures), task, input)
    }
    return try await drive(Run(.unqueued, task.layer, .structured, parent: nil, closures: task.closures), task, input)
  }

  /// Runs a task as a layer, or an attempt, of the body that executes. In a task that the body has left behind, the task is a call.
  static func runLayer<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, attempt: Int? = nil
  ) async throws -> Output {
    guard let parent = ProcedureContext.current?.run, !parent.isFinished else { return try await run(task, input) }
    let task = task.resolved(for: input)
    return try await drive(
      Run(
        parent.core, task.layer, .layer, parent: parent, attempt: attempt ?? Int(parent.attempt),
        slotOf: parent.slotOwner, closures: task.closures), task, input)
  }

  /// Runs a task as the node of a graph that executes.
  package static func runNode<Input, Output>(_ task: ProcedureTask<Input, Output>, _ input: Input) async throws
    -> Output
  {
    guard case .node(let frame)? = ProcedureContext.current?.frame else { return try await runLayer(task, input) }
    let task = task.resolved(for: input)
    return try await drive(frame.makeRun(task.layer, task.closures), task, input)
  }

  /// Drives a run in the caller's task to its end.
  static func drive<Input, Output>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    run.prepare(task.body(with: input))
    return try await run.driveToEnd(admitted: task.layer.traits.rawPriority)
  }
}

extension Run {
  /// The run, or the nearest run around it, that has not finished: a task that a body has left behind is no part of this body any more.
  var nearestUnfinished: Run? {
    for run in ancestors where run.core.read({ $0.runs[run].member >= 0 }) { return run }
    return nil
  }

  /// Admits the run, drives it in the current task, and returns its value.
  func driveToEnd<Output: Sendable>(admitted rawPriority: UInt8?, as type: Output.Type = Output.self) async throws
    -> Output
  {
    let parent = parent
    if let parent, !isPartOfBody, kind != .graphWorker {
      // The body around the run waits for it: a node or a copy has a slot of its own.
      await parent.withSlotReleased(for: .run(self), at: self) { await admitAndDrive(priority: rawPriority) }
      parent.didAwait(identity)
    } else {
      await admitAndDrive(priority: rawPriority)
    }
    guard let outcome else { preconditionFailure("\(layerIdentity) has ended without an outcome") }
    if case .finished(let value) = outcome { return value as! Output }
    if isPartOfBody, let parent {
      // A call, or a node, has released nothing of its parent, which may hold nothing yet, or any more: a condition, a hook of the end, or a
      // task that a body has left behind can call.
      if kind == .layer, let error = await parent.reclaim([parent] + parent.enclosingLayers) { throw error }
      await parent.reacquireSlot(of: slotOwner)
    }
    return try outcome.map { $0 as! Output }.get(of: layerIdentity)
  }

  @inline(__always)
  private func admitAndDrive(priority rawPriority: UInt8?) async {
    let step = admit(priority: rawPriority)
    await drive(from: step)
    if hasKeyOfNode { await slotOwner.switchKey(to: slotOwner) }
  }

  // MARK: Before the body

  /// Evaluates the conditions (K1). `nil` if the decision leads an added run on, and not this task.
  func evaluate() async -> RunStep? {
    let conditions = core.read { $0.runs[self].closures }?.conditions.elements ?? []
    let work = CancellableTask()
    let wait = RunWait.conditions(conditions.map(\.name))
    if isDrivenByWorker {
      addWait(wait, work)
      // The decision leads the run on, and this task remains with the conditions that ignore their cancellation.
      await withTaskAndRunCancellationHandler {
        await evaluate(conditions, by: work) { self.conditionsDecided($0, work) }
      } onCancel: {
        work.cancel()
      }
      removeWait(work)
      return nil
    }
    let evaluation = await withSlotOfBodyReleased(for: wait, at: work) {
      leavesConditionsBehind ? await self.decision(of: conditions) : await self.evaluation(of: conditions, by: work)
    }
    if isTaskCancelled { cancelLikeParent() }
    guard let evaluation else { return .wait }
    return core.send { state, effects in
      guard let outcome = outcome(of: evaluation) else {
        return state.machine.conditionsSatisfied(state.runs[self].member, &effects.next)
      }
      return endWithoutStart(outcome, &state) ? .finish : .stale
    }
  }

  /// Evaluates conditions in a child of this task, with the context and the executor of the run. Nothing is decided if the run has ended
  /// or its queue was suspended before.
  func evaluate(
    _ conditions: [Condition], by work: CancellableTask, decide: @escaping Condition.Decision
  ) async {
    await withBindings {
      await ProcedureContext.bound.withValue(ProcedureContext(self)) {
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

  /// Leads an added run on.
  private func conditionsDecided(_ evaluation: ConditionEvaluation, _ key: AnyObject) {
    removeWait(key)
    if let outcome = outcome(of: evaluation) { return end(outcome) }
    core.send { state, effects in
      let step = state.machine.conditionsSatisfied(state.runs[self].member, &effects.next)
      QueueCore.deliver(step, to: self, &state.runs, &effects)
    }
  }

  /// Evaluates conditions and waits for all of their tasks. `nil` if the conditions were not evaluated.
  func evaluation(of conditions: [Condition], by work: CancellableTask) async -> ConditionEvaluation? {
    let decision = ResultBox<ConditionEvaluation>()
    await withTaskAndRunCancellationHandler {
      await evaluate(conditions, by: work) { decision.store(.success($0)) }
    } onCancel: {
      work.cancel()
    }
    return try? decision.result?.get()
  }

  /// Evaluates conditions and waits for the decision alone. `nil` if the run was cancelled before, or the conditions were not evaluated.
  private func decision(of conditions: [Condition]) async -> ConditionEvaluation? {
    let (decision, decisionSignal) = (ResultBox<ConditionEvaluation>(), OneShotSignal())
    let task = Spawner.startBeside(executor: core.executor) { [self] in
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
    // A child that a condition produced has failed: the conditions were cancelled, and they decide.
    if decision.result == nil, core.read({ $0.runs[self].details.cancellation == nil && !$0.runs[self].isDecided }) {
      await task.value
    }
    return try? decision.result?.get()
  }

  /// The outcome of a run whose conditions are not satisfied; `nil` if they are.
  func outcome(of evaluation: ConditionEvaluation) -> Outcome? {
    switch evaluation {
    case .satisfied: nil
    case .ignored(let condition): .ignored(by: condition)
    case .failed(let condition, let error):
      .failed(ProcedureError.conditionFailed(procedure: layerIdentity, condition: condition, underlying: error))
    }
  }

  /// Starts the delay of the layer, or the pause that its body asked for (T1).
  func startPause() -> RunStep {
    let delay = core.read { $0.runs[self].details.pause.end == nil ? layer.traits.delay : nil }
    return pause(for: delay ?? .zero)
  }

  func pause(for duration: Duration) -> RunStep {
    guard duration > .zero else { return pauseEnded() }
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
    if !isPausing { timers.cancel(timer) }
    return .wait
  }

  private func pauseEnded() -> RunStep {
    core.send { state, effects in
      state.runs[self].changeDetails { $0.pause.timer = nil }
      return state.machine.pauseEnded(state.runs[self].member, &effects.next)
    }
  }

  /// Claims the resources of the layer; after a pause, together with those of the layers around it (R1, R2).
  func claim() -> RunStep {
    let answer: ResourceTable.Answer
    if isRetaking {
      core.update { $0[self].details.claim.hasReclaimed = true }
      answer = core.resources.request(([self] + enclosingLayers).lackingResources, for: self)
    } else {
      answer = core.resources.request(layer.traits.demands.elements, for: self)
    }
    switch answer {
    case .granted:
      let step = core.send { state, effects in nextStepWithClaim(&state, &effects) }
      if step != .stale { return step }
    case .waits: break
    case .refused(let error): claimRefused(error)
    }
    // The run may have ended before its claim.
    if core.read({ $0.runs[self].isDecided }) { core.resources.ended(self) }
    return .wait
  }

  /// Whether the run claims after a pause: with the layers around it, if there are any.
  private var isRetaking: Bool { kind == .layer && core.read { $0.runs[self].hasStarted } }

  /// The next step of a run that has its resources; `stale` if the run was cancelled before.
  private func nextStepWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) -> RunStep {
    let step = state.machine.claimGranted(state.runs[self].member, &effects.next)
    if step != .stale, kind == .layer, state.runs[self].hasStarted {
      enclosingLayers.giveBackClaimsOfEnded(state.runs, &effects)
    }
    guard step == .releaseClaim else { return step }
    giveBackClaim(&effects)
    return .wait
  }

  /// Gives the resources back that the run claims again once its queue continues, or not at all. Takes the lock of the table, and is called under
  /// that of the queue.
  func giveBackClaim(_ effects: inout QueueCore.Effects) {
    for other in core.resources.giveBack(self) { effects.add(.claimGranted(other)) }
  }

  /// The resources that the run has waited for are its own now.
  func claimGranted() {
    let reclaiming = core.read { $0.runs[self].details.claim.reclaiming }
    guard reclaiming.isEmpty else {
      // Not the grant of a claim that was given back since.
      for (signal, layer) in reclaiming where core.resources.isHeld(by: layer) { signal.signal() }
      return
    }
    core.send { state, effects in claimGranted(&state, &effects) }
  }

  /// The resources that the run has waited for are its own now.
  func claimGranted(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    if !state.runs[self].details.claim.reclaiming.isEmpty { return effects.add(.claimGranted(self)) }
    QueueCore.deliver(nextStepWithClaim(&state, &effects), to: self, &state.runs, &effects)
  }

  /// The claim is refused, since it would wait for ever.
  func claimRefused(_ error: ProcedureError) {
    core.send { state, effects in
      if !state.runs[self].details.claim.reclaiming.isEmpty {
        state.runs[self].details.claim.refusal = error
        return effects.call(state.runs[self].details.claim.reclaiming.takeAll().map(\.signal))
      }
      guard state.machine.claimRefused(state.runs[self].member) else { return }
      decide(refusal: .failed(error), &state.runs)
      QueueCore.deliver(.finish, to: self, &state.runs, &effects)
    }
  }
}
