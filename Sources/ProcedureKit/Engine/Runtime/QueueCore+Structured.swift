/// Internal. How runs go in the task that called `run`.
extension QueueCore {
  /// Runs a procedure in the current task, and returns when its body has. A body that waits here lends its queue its slot,
  /// whichever queue that is: so nobody who waits for a procedure keeps a slot from anybody.
  @usableFromInline
  @concurrent func run<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    guard let body = ProcedureContext.current?.slotHolder, body.core !== self else {
      return try await runLendingOwnSlot(task, input)
    }
    body.lendSlot()
    let result: Result<Output, any Error>
    do {
      result = .success(try await runLendingOwnSlot(task, input))
    } catch {
      result = .failure(error)
    }
    await body.regainSlot()
    return try result.get()
  }

  private func runLendingOwnSlot<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    // What a task runs that a body has left behind is no part of that body any more.
    let context = ProcedureContext.current?.living
    let hasExtras = context != nil || task.limit != nil
    let run = StructuredRun(
      task.work, core: self, wanting: demands(of: task.work),
      extras: hasExtras ? RunExtras(startedFrom: context, limit: task.limit.map(RunLimit.init)) : nil)
    let lender = context?.slotHolder(on: self)
    let lateness = run.limit?.arrived(run)
    guard let hasStarted = admit(run, task.priority, lender, startsAtOnce: lateness == nil) else {
      throw ProcedureError.queueShutDown(procedure: run.identity, queue: name)
    }
    if let lateness { cancel(run, lateness) } else { run.limit?.admitted(run) }
    var end: End<Output>?
    if !hasStarted { end = await prepare(run)?.typed() }
    if end == nil { end = await execute(run, task.operation, input) }
    run.limit?.ended(run)
    guard let end else { preconditionFailure("\(run.identity) has no end") }
    return try await leave(run, end, task.hooks, lender)
  }

  // MARK: Before the body

  /// How a run ended, and what is thrown for that.
  private struct End<Output: Sendable>: Sendable {
    var outcome: ProcedureOutcome<Output>
    /// What stands for an outcome without a value.
    var error: (any Error)?
    var hasExecuted = false

    /// The same end of a run that has a value of any type, which this one has not.
    func typed<Other>() -> End<Other> {
      guard let error else { preconditionFailure("End: a value of another type") }
      return End<Other>(outcome: outcome.map { _ in preconditionFailure("End: a value of another type") }, error: error)
    }
  }

  /// How a run ended whose body did not start.
  private typealias PrematureEnd = End<Never>

  /// - Returns: Whether the body has started already; `nil` if the queue refuses the run.
  private func admit(
    _ run: StructuredRun, _ priority: TaskPriority?, _ lender: SlotHolder?, startsAtOnce: Bool
  ) -> Bool? {
    let moment = time.moment()
    let hasConditions = !run.conditions.isEmpty
    let isCancelled = run.parent?.isCancelled ?? Task.isCancelled
    return visit { state, actions, effects in
      // What a body runs on its own queue is part of it: it has the body's place in line, may have its slot, and is
      // admitted as long as the body is there.
      let place = lender.flatMap { $0.member >= 0 ? state[$0] : nil }
      guard !state.machine.isShutDown || place != nil else { return nil }
      let ownPriority = (priority ?? place.map { TaskPriority(rawValue: $0.priority) } ?? Task.currentPriority).rawValue
      let member = state.machine.admitted(
        .structured, priority: max(ownPriority, place?.priority ?? 0), inheriting: place?.order,
        hasConditions: hasConditions, hasResources: run.resources != nil, &actions)
      state.seat(run, at: member)
      record(.didAttach, of: run, at: moment.instant, &state)
      if let lender, place != nil { state.machine.loanStarted(lender.member, &actions) }
      guard startsAtOnce, !hasConditions, !isCancelled, !state.isDoomed else { return false }
      return start(run, at: moment, &state, &actions, &effects)
    }
  }

  /// Starts the body, if the run has a slot, the queue has not been suspended since, and what it wants to hold is there.
  private func start(
    _ run: StructuredRun, at moment: QueueTime.Moment, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> Bool {
    guard state[run].holdsSlot, state.machine.pieceStarted(run.member, &actions) else { return false }
    if state[run].resources == .wanted, state[run].lifecycle.state == .waiting, let request = run.resources {
      guard state.claimResources(for: run, request, &actions, &effects) else {
        // Others may have been moved out of its way, and have what they wanted.
        state.machine.settled(&actions)
        return false
      }
      _ = state.machine.resourcesTaken(run.member)
    }
    guard state.machine.bodyStarted(run.member) else { return false }
    record(.willExecute(attempt: 1), of: run, at: moment.instant, &state)
    return true
  }

  /// Evaluates conditions, waits for a slot, and starts the body.
  ///
  /// - Returns: How the run ended, if its body did not start.
  private func prepare(_ run: StructuredRun) async -> PrematureEnd? {
    await withRunCancellationHandler(in: run.parent, key: run) {
      if run.parent?.isCancelled ?? Task.isCancelled || withState({ state in state.isDoomed }) {
        cancelLikeParent(run)
      }
      if !run.conditions.isEmpty, let end = await judge(run.conditions, of: run) { return end }
      while withState({ state in state[run].lifecycle.state == .waiting }) {
        await wait(for: run) { state in state[run].lifecycle.state == .waiting && !state[run].holdsSlot }
        let moment = time.moment()
        visit { state, actions, effects in _ = start(run, at: moment, &state, &actions, &effects) }
      }
      return prematureEnd(of: run)
    } onCancel: {
      self.cancelLikeParent(run)
    }
  }

  /// How the run ended if it was cancelled before its body, or may not wait for what it wants to hold.
  private func prematureEnd(of run: StructuredRun) -> PrematureEnd? {
    withState { state in
      guard state[run].lifecycle.state == .finishing else { return nil }
      if let refusal = run.refusal { return PrematureEnd(outcome: .failed(refusal), error: refusal) }
      let reason = run.cancellation?.reason
      return PrematureEnd(outcome: .cancelled(reason: reason), error: reason ?? CancellationError())
    }
  }

  /// Evaluates a run's conditions, in a child of the current task, so that the queue can cancel them without it.
  ///
  /// - Returns: How the run ended, if they decided so.
  private func judge(_ conditions: [Condition], of run: StructuredRun) async -> PrematureEnd? {
    while withState({ state in self.isListed(run, &state) }) {
      await wait(for: run) { state in state.machine.isListed(run.member) }
    }
    if let end = prematureEnd(of: run) { return end }
    let (judgement, work) = (Judgement(of: conditions), CancellableWork())
    addCancellationHandler(to: run, key: work) { work.cancel() }
    await withTaskExecutorPreference(executor) {
      await work.execute(startsAtOnce: false) { await judgement.evaluate() }
    }
    let verdict = judgement.verdict
    removeCancellationHandler(from: run, key: work)
    let isDecided = visit { state, actions, _ in
      guard state[run].lifecycle.state == .evaluating else { return false }
      state.machine.conditionsSettled(run.member, verdict.isSatisfied ? .satisfied : .unsatisfied, &actions)
      return true
    }
    guard isDecided else { return prematureEnd(of: run) }
    switch verdict {
    case .satisfied: return nil
    case .ignored(let condition):
      return PrematureEnd(
        outcome: .ignored(by: condition), error: ProcedureError.ignored(procedure: run.identity, by: condition))
    case .failed(let condition, let error):
      let failure = ProcedureError.conditionFailed(procedure: run.identity, condition: condition, underlying: error)
      return PrematureEnd(outcome: .failed(failure), error: failure)
    }
  }

  /// Whether the evaluation has to wait for a suspended queue to resume.
  private func isListed(_ run: StructuredRun, _ state: inout QueueState) -> Bool {
    state[run].lifecycle.state == .evaluating && !state.machine.evaluationStarted(run.member)
  }

  // MARK: The body and after

  private func execute<Input: Sendable, Output: Sendable>(
    _ run: StructuredRun, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output, _ input: Input
  ) async -> End<Output> {
    do {
      let body = body(of: run, operation)
      let context = ProcedureContext(scope: run, hold: run.holdOfBody)
      let value = try await context.run {
        guard broadcaster.isObserved || executor != nil else { return try await body(input) }
        // Somebody watches: the cancel is to be told when it comes, and not when the body has ended.
        return try await withTaskCancellationHandler {
          try await withTaskExecutorPreference(executor) { try await body(input) }
        } onCancel: {
          cancelLikeParent(run)
        }
      }
      return await settleChildren(of: run, End(outcome: .finished(value), hasExecuted: true))
    } catch {
      run.noteTimeout(error)
      return await settleChildren(
        of: run, End(outcome: ProcedureOutcome(thrown: error), error: error, hasExecuted: true))
    }
  }

  /// An operation with what the run and the queue put around it.
  private func body<Input: Sendable, Output: Sendable>(
    of run: StructuredRun, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output
  ) -> @concurrent @Sendable (Input) async throws -> Output {
    var body = operation
    if run.body != nil { body = { [self] in try await executeAlone(run, operation, $0) } }
    let limited = body
    if hooks != nil { body = { [self] in try await hooked(run.identity, limited, $0) } }
    return body
  }

  /// Executes a body that is cancelled when its time is over, in a task of its own: its caller's is not to be cancelled.
  private func executeAlone<Input: Sendable, Output: Sendable>(
    _ run: StructuredRun, _ operation: @escaping @concurrent @Sendable (Input) async throws -> Output, _ input: Input
  ) async throws -> Output {
    guard let work = run.body else { return try await operation(input) }
    try run.limit?.bodyStarts(run)
    return try await work.execute(startsAtOnce: run.parent.map { !$0.isDeep } ?? true) { try await operation(input) }
  }

  /// Waits for what the body has produced.
  private func settleChildren<Output: Sendable>(of run: StructuredRun, _ end: End<Output>) async -> End<Output> {
    guard run.endProduction() != nil else { return end }
    do {
      let result = Result { () throws in try end.outcome.get(of: run.identity) }
      return End(
        outcome: .finished(try await ProcedureContext(scope: run).settleChildren(result)), hasExecuted: true)
    } catch {
      return End(outcome: ProcedureOutcome(thrown: error), error: error, hasExecuted: true)
    }
  }

  /// The end of a run that has started without all this.
  func leaveLongWay<Output: Sendable>(_ run: StructuredRun, _ result: Result<Output, any Error>) async throws -> Output
  {
    var end = End(outcome: ProcedureOutcome(result), hasExecuted: true)
    if case .failure(let error) = result {
      run.noteTimeout(error)
      end.error = error
    }
    return try await leave(run, await settleChildren(of: run, end), nil, nil)
  }

  /// The run is over: its slot goes on, or back to the body that lent it.
  private func leave<Output: Sendable>(
    _ run: StructuredRun, _ end: End<Output>, _ hooks: FinishHooks<Output>?, _ lender: SlotHolder?
  ) async throws -> Output {
    var end = end
    if end.hasExecuted, run.parent?.isCancelled ?? Task.isCancelled { cancelLikeParent(run) }
    let isReturned: Bool
    if hooks == nil, !hasFinishHooks {
      let moment = time.moment()
      isReturned = visit { state, actions, effects in
        decide(run, &end, at: moment, &state)
        record(.willFinish(end.outcome.withoutValue), of: run, at: moment.instant, &state)
        state.unseat(run, &actions, &effects)
        record(.didFinish(end.outcome.withoutValue), of: run, at: moment.instant, &state)
        return takeBack(lender, &state, &actions)
      }
    } else {
      end = await conclude(
        run, end, [hooks, self.hooks?.finishHooks(of: run.identity, Output.self)].compactMap(\.self))
      isReturned = visit { state, actions, effects in
        state.unseat(run, &actions, &effects)
        return takeBack(lender, &state, &actions)
      }
    }
    run.forgetEndedParent()
    if !isReturned, let lender { await waitToRegain(lender) }
    if let error = end.error { throw error }
    return try end.outcome.get(of: run.identity)
  }

  /// From here on nothing changes the outcome but a hook that throws.
  private func decide<Output>(
    _ run: StructuredRun, _ end: inout End<Output>, at moment: QueueTime.Moment, _ state: inout QueueState
  ) {
    guard end.hasExecuted else { return }
    state.machine.bodyEnded(run.member)
    recordEndOfBody(of: run, at: moment.instant, &state)
    guard let cancellation = run.cancellation else { return }
    end.outcome = .cancelled(reason: cancellation.reason)
    end.error = cancellation.reason ?? CancellationError()
  }

  /// Calls the hooks of the end, while the run holds nothing any more.
  private func conclude<Output: Sendable>(
    _ run: StructuredRun, _ end: End<Output>, _ hooks: [FinishHooks<Output>]
  ) async -> End<Output> {
    var end = end
    let moment = time.moment()
    visit { state, actions, effects in
      decide(run, &end, at: moment, &state)
      state.endClaim(of: run, &actions, &effects)
      state.machine.slotReturned(run.member, &actions)
      state.machine.settled(&actions)
    }
    let context = ProcedureContext(scope: run)
    for hooks in hooks {
      let outcome = end.outcome
      let failure = await context.run {
        await withTaskExecutorPreference(executor) { await hooks.callWillFinish(outcome) }
      }
      if let failure { (end.outcome, end.error) = (.failed(failure), failure) }
    }
    let (outcome, later) = (end.outcome, time.moment())
    visit { state, _, _ in
      record(.willFinish(outcome.withoutValue), of: run, at: later.instant, &state)
      record(.didFinish(outcome.withoutValue), of: run, at: later.instant, &state)
    }
    for hooks in hooks {
      await context.run { await withTaskExecutorPreference(executor) { await hooks.callDidFinish(outcome) } }
    }
    return end
  }

  /// - Returns: Whether the lender, if there is one, has its slot again.
  private func takeBack(
    _ lender: SlotHolder?, _ state: inout QueueState, _ actions: inout [QueueMachine.Action]
  ) -> Bool {
    var isReturned = true
    if let lender, lender.member >= 0 { isReturned = state.machine.loanEnded(lender.member, &actions) }
    state.machine.settled(&actions)
    return isReturned
  }

  // MARK: Cancellation

  /// Cancels a run because its task was cancelled, or a run that it is part of, whose reason it takes over.
  ///
  /// All that a deep nesting is made of tells its innermost run: what comes after the first is not to cost more than a look.
  private func cancelLikeParent(_ run: StructuredRun) {
    guard cancellation(of: run) == nil else { return }
    cancel(run, run.parent?.cancellationReason)
  }

  func addCancellationHandler(to run: StructuredRun, key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let isCancelled = withState { _ in
      run.cancellationHandlers[ObjectIdentifier(key)] = handler
      return run.cancellation != nil || run.children?.isStopping ?? false
    }
    if isCancelled { handler() }
  }

  func removeCancellationHandler(from run: StructuredRun, key: AnyObject) {
    let handler = withState { _ in run.cancellationHandlers.removeValue(forKey: ObjectIdentifier(key)) }
    _ = handler
  }
}
