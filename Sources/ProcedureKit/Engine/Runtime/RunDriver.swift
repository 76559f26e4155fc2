/// Leads a run through its phases: one switch over the steps that the machine decides.
///
/// The caller of `run` loops until the end. A worker returns at a wait, and takes the next run.
enum RunDriver {
  /// Runs a task without a queue: within a body as a part of this body, elsewhere without limit.
  static func run<Input, Output>(_ task: ProcedureTask<Input, Output>, _ input: Input) async throws -> Output {
    let task = task.resolved(for: input)
    if let parent = ProcedureContext.current?.run.living {
      return try await drive(
        Run(
          parent.core, task.level, .call, parent: parent, attempt: Int(parent.attempt), slotOf: parent.slotOwner,
          closures: task.closures), task, input)
    }
    return try await drive(Run(.unqueued, task.level, .structured, parent: nil, closures: task.closures), task, input)
  }

  /// Runs a task as a level, or an attempt, of the body that executes. In a task that the body has left behind, the task is a call.
  static func runLevel<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, attempt: Int? = nil
  ) async throws -> Output {
    guard let parent = ProcedureContext.current?.run, !parent.isFinished else { return try await run(task, input) }
    let task = task.resolved(for: input)
    return try await drive(
      Run(
        parent.core, task.level, .level, parent: parent, attempt: attempt ?? Int(parent.attempt),
        slotOf: parent.slotOwner, closures: task.closures), task, input)
  }

  /// Runs a task as the node of a graph that executes.
  static func runNode<Input, Output>(_ task: ProcedureTask<Input, Output>, _ input: Input) async throws -> Output {
    guard case .node(let frame)? = ProcedureContext.current?.frame else { return try await runLevel(task, input) }
    let task = task.resolved(for: input)
    return try await drive(frame.makeRun(task.level, task.closures), task, input)
  }

  /// Drives a run in the caller's task to its end.
  static func drive<Input, Output>(
    _ run: Run, _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    run.body = task.body(with: input)
    return try await run.driveToEnd(admitted: task.level.traits.rawPriority)
  }
}

extension Run {
  /// The run, or the nearest run around it, that has not finished: a task that a body has left behind is no part of this body any more.
  var living: Run? {
    for run in ancestors where run.core.withState({ _ in run.member >= 0 }) { return run }
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
    guard let outcome else { preconditionFailure("\(levelIdentity) has ended without an outcome") }
    if case .finished(let value) = outcome { return value as! Output }
    if isPartOfBody, let parent {
      // A call, or a node, has released nothing of its parent, which may hold nothing yet, or any more: a condition, a hook of the end, or a
      // task that a body has left behind can call.
      if kind == .level, let error = await parent.reclaim([parent] + parent.enclosingLevels) { throw error }
      await parent.reacquireSlot(of: slotOwner)
    }
    return try outcome.map { $0 as! Output }.get(of: levelIdentity)
  }

  @inline(__always)
  private func admitAndDrive(priority rawPriority: UInt8?) async {
    let step = admit(priority: rawPriority)
    await drive(from: step)
    if hasKeyOfNode { await slotOwner.switchKey(to: slotOwner) }
  }

  // MARK: The steps

  /// Goes on with an added run from a step that leads on, in the task of whoever caused the step, or in a task of the queue.
  func goOn(from first: RunStep) {
    var step = first
    while true {
      switch step {
      case .wait, .start: return
      case .pause: step = startPause()
      case .claim: step = claim()
      case .evaluate: return core.startTask { await self.drive(from: .evaluate) }
      case .finish:
        let needsTask = hasHooksOfEnd || level.hasDidExecuteHooks && endsPausedBody
        if needsTask || !finishAtOnce() { core.startTask { await self.drive(from: .finish) } }
        return
      }
    }
  }

  func drive(from first: RunStep) async {
    var (step, starts) = (first, 0)
    while true {
      switch step {
      case .wait:
        if isDrivenByWorker { return }
        step = await nextStep()
      case .evaluate:
        guard let next = await evaluate() else { return }
        step = next
      case .pause: step = startPause()
      case .claim: step = claim()
      case .start:
        starts += 1
        if starts % 128 == 0 { await Task.yield() }
        step = await execute()
      case .finish: return await finish()
      }
    }
  }

  /// Waits for the next step. A part of a body releases the body's slot until then.
  private func nextStep() async -> RunStep {
    if let step = core.withState({ _ in details?.step.take() }) { return step }
    await withSlotOfBodyReleased {
      await withTaskCancellationHandler {
        await Waiter.suspend { waiter in
          core.withState { _ in
            guard madeDetails.step == nil else { return false }
            details?.caller = waiter
            return true
          }
        }
      } onCancel: {
        if !ignoresTaskCancellation { cancelLikeParent() }
      }
    }
    return core.withState { _ in details?.step.take() } ?? .finish
  }

  /// Whether the task was cancelled that drives the run, and the cancel counts for it.
  var isTaskCancelled: Bool { !isDrivenByWorker && !ignoresTaskCancellation && Task.isCancelled }

  /// The task was cancelled that executes the body.
  @usableFromInline
  func callerWasCancelled() { cancelLikeParent() }

  /// Cancels the run since the task was cancelled that executes it: for the reason of the run around it, if it has one.
  func cancelLikeParent() {
    // A failed child has cancelled the task, and not the run. The first cancellation counts.
    if isToldToStop { return }
    cancel(parent.flatMap(\.inheritedReason))
  }

  /// The reason for which the run, or a run around it, was cancelled or stopped.
  var inheritedReason: (any Error)? {
    for run in ancestors {
      let (reason, stop, graph) = run.core.withState { _ in (run.cancellation?.reason, run.failFast, run.details?.graph)
      }
      if let reason = reason ?? (stop ?? graph?.failFast).map({ .stopped(run.identity, by: $0) }) { return reason }
    }
    return nil
  }

  // MARK: Before the body

  /// Evaluates the conditions (K1). `nil` if the decision leads an added run on, and not this task.
  private func evaluate() async -> RunStep? {
    let conditions = core.withState { _ in closures }?.conditions.elements ?? []
    let work = CancellableWork()
    let wait = RunWait.conditions(conditions.map(\.name))
    if isDrivenByWorker {
      addWait(wait, work)
      // The decision leads the run on, and this task remains with the conditions that ignore their cancellation.
      await whileCancellable {
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
      guard member >= 0, state.machine[member].phase == .evaluating else { return .finish }
      guard let outcome = outcome(of: evaluation) else {
        return state.machine.conditionsSatisfied(member, &effects.next)
      }
      endedWithoutStart(outcome, &state)
      return .finish
    }
  }

  /// Evaluates conditions in a child of this task, with the context and the executor of the run. Nothing is decided if the run has ended
  /// or its queue was suspended before.
  private func evaluate(
    _ conditions: [Condition], by work: CancellableWork, decide: @escaping Condition.Decision
  ) async {
    await withBindings {
      await ProcedureContext.bound.withValue(ProcedureContext(self)) {
        await withTaskExecutorPreference(self.core.executor) {
          await work.execute(startsAtOnce: false) {
            if self.core.withState({ state in self.member >= 0 && state.machine.evaluationStarts(self.member) }) {
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
      guard member >= 0, state.machine[member].phase == .evaluating else { return }
      let step = state.machine.conditionsSatisfied(member, &effects.next)
      if step != .wait { QueueCore.hand(step, to: self, &effects) }
    }
  }

  /// Evaluates conditions and waits for all of their tasks. `nil` if the conditions were not evaluated.
  private func evaluation(of conditions: [Condition], by work: CancellableWork) async -> ConditionEvaluation? {
    let decision = ResultBox<ConditionEvaluation>()
    await whileCancellable {
      await evaluate(conditions, by: work) { decision.store(.success($0)) }
    } onCancel: {
      work.cancel()
    }
    return try? decision.result?.get()
  }

  /// Evaluates conditions and waits for the decision alone. `nil` if the run was cancelled before, or the conditions were not evaluated.
  private func decision(of conditions: [Condition]) async -> ConditionEvaluation? {
    let (decision, isOver) = (ResultBox<ConditionEvaluation>(), Wakeup())
    let task = Spawner.startBeside(executor: core.executor) { [self] in
      await evaluate(conditions, by: CancellableWork()) {
        decision.store(.success($0))
        isOver.call()
      }
      isOver.call()
    }
    await whileCancellable {
      await isOver.waitUntilCalled()
    } onCancel: {
      task.cancel()
      isOver.leave()
    }
    if isTaskCancelled { cancelLikeParent() }
    // A child that a condition produced has failed: the conditions were cancelled, and they decide.
    if decision.result == nil, core.withState({ _ in details?.cancel == nil && !isDecided }) { await task.value }
    return try? decision.result?.get()
  }

  /// The outcome of a run whose conditions are not satisfied; `nil` if they are.
  private func outcome(of evaluation: ConditionEvaluation) -> Outcome? {
    switch evaluation {
    case .satisfied: nil
    case .ignored(let condition): .ignored(by: condition)
    case .failed(let condition, let error):
      .failed(ProcedureError.conditionFailed(procedure: levelIdentity, condition: condition, underlying: error))
    }
  }

  /// Starts the delay of the level, or the pause that its body asked for (T1).
  private func startPause() -> RunStep {
    let delay = core.withState { _ in details?.pauseEnd == nil ? level.traits.delay : nil }
    return pause(for: delay ?? .zero)
  }

  private func pause(for duration: Duration) -> RunStep {
    guard duration > .zero else { return pauseEnded() }
    let timers = core.timers
    let end = timers.now.advanced(by: duration.saturated.roundedUpToNanoseconds)
    core.withState { _ in madeDetails.pauseEnd = end }
    let timer = timers.schedule(at: end) { [self] in
      core.send { state, effects in
        guard member >= 0, state.machine[member].phase == .pausing else { return }
        details?.pauseTimer = nil
        let step = state.machine.pauseEnded(member, &effects.next)
        if step != .wait { QueueCore.hand(step, to: self, &effects) }
      }
    }
    let isPausing = core.withState { state in
      guard member >= 0, state.machine[member].phase == .pausing else { return false }
      details?.pauseTimer = timer
      return true
    }
    if !isPausing { timers.cancel(timer) }
    return .wait
  }

  private func pauseEnded() -> RunStep {
    core.send { state, effects in
      guard member >= 0, state.machine[member].phase == .pausing else { return .wait }
      details?.pauseTimer = nil
      return state.machine.pauseEnded(member, &effects.next)
    }
  }

  /// Claims the resources of the level; after a pause, together with those of the levels around it (R1, R2).
  private func claim() -> RunStep {
    let answer: ResourceTable.Answer
    if isRetaking {
      core.withState { _ in madeDetails.hasReclaimed = true }
      answer = core.resources.request(([self] + enclosingLevels).lackingResources, for: self)
    } else {
      answer = core.resources.request(level.traits.demands.elements, for: self)
    }
    switch answer {
    case .granted:
      if let step = core.send({ state, effects in nextStepWithClaim(&state, &effects) }) { return step }
    case .waits: break
    case .refused(let error): claimRefused(error)
    }
    // The run may have ended before its claim.
    if core.withState({ _ in isDecided }) { core.resources.ended(self) }
    return .wait
  }

  /// Whether the run claims after a pause: with the levels around it, if there are any.
  private var isRetaking: Bool { hasStarted && kind == .level }

  /// The next step of a run that has its resources; `nil` if the run was cancelled before. Called under the lock.
  private func nextStepWithClaim(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) -> RunStep? {
    guard member >= 0, state.machine[member].phase == .claiming else { return nil }
    if isRetaking { enclosingLevels.giveBackClaimsOfEnded(&effects) }
    if state.machine.claimLapses(member) {
      giveBackClaim(&effects)
      return .wait
    }
    return state.machine.claimGranted(member, &effects.next)
  }

  /// Gives the resources back that the run claims again once its queue continues, or not at all. Called under the lock, which is taken before
  /// that of the table.
  func giveBackClaim(_ effects: inout QueueCore.Effects) {
    for other in core.resources.giveBack(self) { effects.add(.claimGranted(other)) }
  }

  /// The resources that the run has waited for are its own now.
  func claimGranted() {
    let reclaiming = core.withState { _ in details?.reclaiming ?? [] }
    guard reclaiming.isEmpty else {
      // Not the grant of a claim that was given back since.
      for (wakeup, level) in reclaiming where core.resources.isHeld(by: level) { wakeup.call() }
      return
    }
    core.send { state, effects in claimGranted(&state, &effects) }
  }

  /// The resources that the run has waited for are its own now. Called under the lock.
  func claimGranted(_ state: inout QueueCore.State, _ effects: inout QueueCore.Effects) {
    if !(details?.reclaiming ?? []).isEmpty { return effects.add(.claimGranted(self)) }
    if let step = nextStepWithClaim(&state, &effects), step != .wait { QueueCore.hand(step, to: self, &effects) }
  }

  /// The claim is refused, since it would wait for ever.
  func claimRefused(_ error: ProcedureError) {
    core.send { state, effects in
      if let details, !details.reclaiming.isEmpty {
        details.claimRefusal = error
        return effects.call(details.reclaiming.takeAll().map(\.wakeup))
      }
      guard member >= 0, state.machine[member].phase == .claiming else { return }
      endedWithoutStart(.failed(error), &state)
      QueueCore.hand(.finish, to: self, &effects)
    }
  }

  // MARK: The body

  /// Executes the body by a worker. The run that the worker goes on with, or `nil`.
  @inline(__always)
  func executeByWorker(_ worker: Worker) async -> Run? {
    // The visit that gave the run to the worker has started it then.
    if level.startsPlainly, hasStarted, let body {
      let result: Result<any Sendable, any Error>
      do {
        result = .success(
          try await ProcedureContext.bound.withValue(ProcedureContext(self)) { try await body(self, .execute) })
      } catch {
        result = .failure(error)
      }
      if let next = core.endedPlainly(self, result, worker) { return next.run }
      bodyEnded(result)
      await finish()
    } else {
      await drive(from: .start)
    }
    return core.nextRun(for: worker, after: self)
  }

  /// Calls the hooks and the body.
  private func execute() async -> RunStep {
    // Only the driver writes `hasStarted`.
    let isFirst = !hasStarted
    if isFirst, hasKeyOfNode { await switchKey(to: self) }
    let hasBindings = kind == .added && !core.carriers.isEmpty
    if !isFirst, kind == .level, let error = await reclaim(enclosingLevels) {
      core.withState { _ in madeDetails.result = .failure(error) }
      return .finish
    }
    let needsTask = !isDrivenByWorker && (level.traits.timeout != nil || level.traits.deadline != nil || kind == .copy)
    let end: BodyEnd
    if needsTask || hasBindings {
      let box = ResultBox<BodyEnd>()
      await withBindings {
        guard needsTask else { return box.store(.success(await self.callBody(isFirst: isFirst))) }
        let work = CancellableWork()
        await self.whileCancellable {
          await work.execute(startsAtOnce: !self.isDeep) { box.store(.success(await self.callBody(isFirst: isFirst))) }
        } onCancel: {
          work.cancel()
        }
      }
      end = (try? box.result?.get()) ?? .notStarted
    } else {
      end = await callBody(isFirst: isFirst)
    }
    switch end {
    case .notStarted, .ended: return .finish
    case .pause(let pause): return paused(pause)
    }
  }

  private enum BodyEnd: Sendable {
    /// The body has ended, or a hook before it has thrown: the result is stored.
    case ended
    case pause(Duration)
    /// The run was cancelled before.
    case notStarted
  }

  private func callBody(isFirst: Bool) async -> BodyEnd {
    await ProcedureContext.bound.withValue(ProcedureContext(self)) {
      do {
        if isFirst {
          if level.reuses, try await reuse() { return .ended }
          try await callWillExecuteHooks()
        }
      } catch {
        core.withState { _ in madeDetails.result = .failure(error) }
        return .ended
      }
      guard let body = startBody() else { return .notStarted }
      var result: Result<any Sendable, any Error>
      do {
        result = .success(try await tellingOfCancel { try await execute(body) })
      } catch let pause as Pause {
        return .pause(pause.duration)
      } catch {
        result = .failure(error)
      }
      if let hooks = bodyEnded(result) { await callDidExecuteHooks(hooks, result) }
      return .ended
    }
  }

  private func execute(_ body: @escaping Body) async throws -> any Sendable {
    // A layer executes where the layer around it does, in the same task.
    guard let executor = core.executor, !isDrivenByWorker, kind != .level || !core.withState({ _ in isInWatchedTask })
    else { return try await intercepted(body) }
    return try await withTaskExecutorPreference(executor) { try await intercepted(body) }
  }

  /// Executes the body within the queue's interceptor, which sees the error of an attempt, and no pause.
  private func intercepted(_ body: @escaping Body) async throws -> any Sendable {
    guard let interceptor = core.interceptor, isReported else { return try await body(self, .execute) }
    let result = ResultBox<any Sendable>()
    do {
      try await interceptor(ProcedureContext(self)) {
        do {
          result.store(.success(try await body(self, .execute)))
        } catch {
          result.store(.failure(error))
          guard let pause = error as? Pause else { throw error }
          if let error = pause.error { throw error }
        }
      }
    } catch {
      if case .failure(let pause as Pause)? = result.result { throw pause }
      throw error
    }
    guard let result = result.result else { throw ProcedureError.bodySkipped(procedure: identity, queue: core.name) }
    return try result.get()
  }

  /// Looks for a value that is there already, and ends the body with it. Whether there is one.
  private func reuse() async throws -> Bool {
    if let timeout = level.traits.timeout { arm(timeout) }
    let (body, name) = core.withState { _ in (self.body, self.closures?.reuse?.name) }
    guard let body, let name, let reused = try await body(self, .reuse) as? Level.Reused else { return false }
    core.withState { _ in
      madeDetails.result = .success(reused.value)
      reported.madeDetails.isReused = true
    }
    report(.reused(by: name))
    log.debug("reuses \(name)")
    return true
  }

  /// Calls the hooks before the body. The time of a timeout starts after the hooks of the queue, which it is not around.
  private func callWillExecuteHooks() async throws {
    if isReported, let hook = core.hooks?.onWillExecute { try await hook(identity) }
    if let timeout = level.traits.timeout, !level.reuses { arm(timeout) }
    guard level.hasWillExecuteHooks, let body = core.withState({ _ in body }) else { return }
    _ = try await body(self, .hooks)
  }

  /// Executes the body. A cancel of the caller's task is one of the run, and reaches its children at once.
  private func tellingOfCancel<R>(_ body: () async throws -> R) async rethrows -> R {
    if isDrivenByWorker || ignoresTaskCancellation { return try await body() }
    let task = TaskIdentity.current
    let isWatched = core.withState { _ in
      watchedTask = task
      return isInWatchedTask
    }
    defer { core.withState { _ in watchedTask = nil } }
    // A cancellation of the task cancels the run around this one, which passes it on. With a handler for each of 10,000 layers, the runtime would
    // walk through all of them for each layer.
    if isWatched { return try await body() }
    return try await withTaskCancellationHandler(operation: body) { cancelLikeParent() }
  }

  /// Whether the body executes in the task of the body around it, whose cancellation reaches this run by way of the other one. Called under
  /// the lock.
  private var isInWatchedTask: Bool {
    guard let parent, parent.core === core, let watchedTask else { return false }
    return parent.watchedTask == watchedTask
  }

  /// The body is about to execute; `nil` if the run was cancelled before.
  private func startBody() -> Body? {
    let reading = core.time.reading()
    if isTaskCancelled { cancelLikeParent() }
    // The timer may be about to say so.
    if let deadline = level.traits.deadline, deadline.remaining <= .zero { deadlinePassed() }
    return core.send { state, effects in
      guard cancellation == nil, member >= 0 else { return nil }
      state.machine.bodyStarted(member)
      details?.abandonPause = nil
      if !hasStarted || details?.isRetrying ?? false {
        if !hasStarted { started = stamp(reading.instant).nanoseconds }
        hasStarted = true
        if !isReported, details?.isRetrying ?? false { reported.madeDetails.innerRetryCount += 1 }
        details?.isRetrying = false
        let (attempt, cause) = (details?.currentAttempt ?? 1, details?.executionCause)
        record(
          .willExecute(attempt: attempt, slot: slotNumber(state), slotWait: slotWait(state), cause: cause),
          at: reading.instant, &effects)
      }
      return body
    }
  }

  /// The body has ended. The hooks that are called then, if there are any.
  @discardableResult
  func bodyEnded(_ result: Result<any Sendable, any Error>?) -> Level.Hooks? {
    let reading = core.time.reading()
    return core.send { state, effects in
      if let result { madeDetails.result = result }
      // The end of the attempt before a pause was recorded then.
      if !(details?.isRetrying ?? false) {
        ended = stamp(reading.instant).nanoseconds
        record(
          .didExecute(attempt: details?.currentAttempt ?? 1, slot: slotNumber(state)), at: reading.instant, &effects)
      }
      let hasHooks = level.hasDidExecuteHooks || (isReported && core.hooks?.onDidExecute != nil)
      return hasHooks ? closures?.hooks ?? Level.Hooks() : nil
    }
  }

  func callDidExecuteHooks(_ hooks: Level.Hooks, _ result: Result<any Sendable, any Error>) async {
    let cancel =
      core.withState { _ in cancellation } ?? (isTaskCancelled && !isStopping ? Cancel(reason: inheritedReason) : nil)
    let ending = cancel.map { outcome(of: $0) } ?? Outcome(result)
    do {
      for hook in hooks.didExecute.elements { try await hook(ending) }
      if isReported, let hook = core.hooks?.onDidExecute { try await hook(identity, ending.withoutValue) }
    } catch {
      core.withState { _ in madeDetails.result = .failure(error) }
    }
  }

  // MARK: Limits

  /// Starts the clock of the timeout: as the body starts to execute (C5).
  private func arm(_ timeout: Duration) {
    let identity = levelIdentity
    schedule(after: timeout) { [self] in
      cancel(ProcedureError.timedOut(procedure: identity, duration: timeout, hasStarted: true))
    }
  }

  /// The error if the deadline has passed: no queue has refused the run, which is attached and ends.
  func lateness(_ deadline: Deadline) -> ProcedureError? {
    let remaining = deadline.remaining
    guard remaining > .zero else {
      let reading = core.time.reading()
      core.send { _, effects in
        attached = reading.instant.nanoseconds
        // The graph has reported its nodes.
        if kind != .node { record(.didAttach(elementOf: level.traits.collection), at: reading.instant, &effects) }
      }
      return .timedOut(procedure: levelIdentity, duration: .zero, hasStarted: false)
    }
    core.withState { _ in madeDetails.timeToDeadline = remaining }
    return nil
  }

  /// Starts the timer of the deadline. The run has arrived: a timer that ends before would find nothing to cancel.
  func startDeadline() {
    guard let deadline = level.traits.deadline else { return }
    schedule(after: deadline.remaining) { [self] in deadlinePassed() }
  }

  private func deadlinePassed() {
    let (duration, hasStarted) = core.withState { _ in (details?.timeToDeadline ?? .zero, self.hasStarted) }
    cancel(ProcedureError.timedOut(procedure: levelIdentity, duration: duration, hasStarted: hasStarted))
  }

  private func schedule(after duration: Duration, _ action: @escaping @Sendable () -> Void) {
    let timer = core.timers.schedule(after: duration, action)
    let isDecided = core.withState { _ in
      if !self.isDecided { madeDetails.timers.append(timer) }
      return self.isDecided
    }
    if isDecided { core.timers.cancel(timer) }
  }

  /// Whether the run is deep within others, so that a child task that starts at once might meet the end of the stack.
  private var isDeep: Bool { ancestors.dropFirst(16).contains { _ in true } }

  // MARK: Pauses

  /// The body pauses: the run gives its slot and its claim back.
  private func paused(_ duration: Duration) -> RunStep {
    let levels = [self] + enclosingLevels
    giveBackResources(levels)
    let needs: QueueMachine<Run>.Needs = levels.contains { $0.level.needs.contains(.claim) } ? .claim : []
    let isCancelled = core.send { state, effects in
      guard cancellation == nil else { return true }
      state.machine.paused(member, needs: needs, &effects.next)
      return false
    }
    return isCancelled ? .finish : pause(for: duration)
  }

  /// Gives back what levels of the procedure hold, until `reclaim`.
  func giveBackResources(_ levels: [Run]) {
    for level in levels where !level.level.traits.demands.isEmpty { level.core.resources.ended(level) }
  }

  /// Claims what the levels have released for a pause, all of it together. The error if that is refused, or the run cancelled.
  func reclaim(_ levels: [Run]) async -> (any Error)? {
    while true {
      let lacking = levels.lackingResources
      guard let innermost = lacking.first else { return nil }
      // The run may have a claim already, which was kept for a nested run.
      let claimant = core.resources.isHeld(by: self) ? innermost : self
      let wakeup = Wakeup()
      core.withState { _ in
        claimant.madeDetails.hasReclaimed = true
        claimant.details?.reclaiming.append((wakeup, innermost))
      }
      let answer = core.resources.request(lacking, for: claimant)
      if case .waits = answer {
        await withSlotReleased {
          if await !wait(at: wakeup) { _ = core.resources.withdraw(claimant) }
        }
      }
      let isOver = if case .refused = answer { true } else { wakeup.wasLeft }
      let refusal = core.send { _, effects in
        lacking.giveBackClaimsOfEnded(&effects)
        claimant.details?.reclaiming.removeAll { $0.wakeup === wakeup }
        // Another part of the body that waits for the same claim makes a request of its own.
        if isOver { effects.call(claimant.details?.reclaiming.map(\.wakeup) ?? []) }
        return claimant.details?.claimRefusal.take()
      }
      if case .refused(let error) = answer { return error }
      if let refusal { return refusal }
      if isCancelled { return inheritedReason ?? CancellationError() }
    }
  }

  /// Waits at a wakeup until it is called, or the run is cancelled. Whether it was called.
  func wait(at wakeup: Wakeup) async -> Bool {
    await whileCancellable {
      await wakeup.waitUntilCalled()
    } onCancel: {
      wakeup.leave()
    }
    return !wakeup.wasLeft
  }

  // MARK: The state of a level that pauses

  /// The state that the last step of a retry or a repeat has left, if any.
  func pacing<State: Sendable>() -> State? { core.withState { _ in details?.pacing as? State } }

  func setPacing(_ state: any Sendable) { core.withState { _ in madeDetails.pacing = state } }

  // MARK: Task locals

  /// Binds what the queue's carriers captured when the run was added.
  private func withBindings(_ operation: @escaping @Sendable () async -> Void) async {
    guard let bindings = core.withState({ _ in details?.bindings }), !bindings.isEmpty else { return await operation() }
    await Self.bind(bindings[...], operation)
  }

  static func bind(
    _ bindings: ArraySlice<ContextCarrier.Binding>, _ operation: @escaping @Sendable () async -> Void
  ) async {
    guard let first = bindings.first else { return await operation() }
    await first { await bind(bindings.dropFirst(), operation) }
  }
}

extension [Run] {
  /// The levels, of one queue, that need resources and do not hold them. A level that has ended needs none any more.
  fileprivate var lackingResources: [Run] {
    filter { level in
      !level.level.traits.demands.isEmpty && !level.core.resources.isHeld(by: level)
        && !level.core.withState { _ in level.isDecided }
    }
  }

  /// Gives back what was claimed for levels that have ended since: a task that a body has left behind can pause within them. Called under the
  /// lock.
  fileprivate func giveBackClaimsOfEnded(_ effects: inout QueueCore.Effects) {
    for level in self where level.isDecided { level.giveBackClaim(&effects) }
  }
}
