/// Internal. How runs go in the task that called `run`.
extension QueueCore {
  /// Runs a procedure in the current task, and returns when its body has.
  @concurrent func run<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, _ input: Input
  ) async throws -> Output {
    let context = ProcedureContext.current
    let run = StructuredRun(name: task.name, core: self, parent: context)
    let lender = context?.slotHolder(on: self)
    let priority = task.priority ?? Task.currentPriority
    guard let canStart = admit(run, priority, hasConditions: !task.conditions.isEmpty, lender) else {
      throw ProcedureError.queueShutDown(procedure: run.identity, queue: name)
    }
    if !canStart || context?.isCancelled ?? Task.isCancelled {
      let decision = await prepare(run, task.conditions)
      if let error = decision.error {
        await leaveBeforeBody(run, decision, lender)
        throw error
      }
    }
    let outcome: ProcedureOutcome<Output>
    do {
      outcome = .finished(try await execute(run, task.operation, input))
    } catch {
      outcome = ProcedureOutcome(thrown: error)
    }
    return try await leave(run, outcome, lender)
  }

  /// - Returns: Whether the body may start at once; `nil` if the queue refuses the run.
  private func admit(
    _ run: StructuredRun, _ priority: TaskPriority, hasConditions: Bool, _ lender: SlotHolder?
  ) -> Bool? {
    visit { state, actions, _ in
      guard !state.machine.isShutDown else { return nil }
      // What a body runs on its own queue has the body's place in line, and may have its slot.
      let order = lender.flatMap { $0.member >= 0 ? state[$0].order : nil }
      let member = state.machine.admitted(
        .structured, priority: priority.rawValue, inheriting: order, hasConditions: hasConditions, &actions)
      state.seat(run, at: member)
      record(.didAttach, of: run, at: time.now, &state)
      if let lender, lender.member >= 0 { state.machine.loanStarted(lender.member, &actions) }
      guard !hasConditions, state[run].holdsSlot, !Task.isCancelled else { return false }
      return start(run, &state)
    }
  }

  private func start(_ run: StructuredRun, _ state: inout QueueState) -> Bool {
    guard state.machine.bodyStarted(run.member) else { return false }
    record(.willExecute(attempt: 1), of: run, at: time.now, &state)
    return true
  }

  /// How a run stands before its body.
  private struct Preparation {
    var outcome: ProcedureOutcome<Void>
    var error: (any Error)?
  }

  /// Evaluates conditions and waits for a slot, as far as that is still to be done, and starts the body.
  private func prepare(_ run: StructuredRun, _ conditions: [Condition]) async -> Preparation {
    await withRunCancellationHandler(in: run.parent, key: run) {
      if Task.isCancelled || run.parent?.isCancelled ?? false { cancel(run, run.parent?.cancellationReason) }
      if withState({ state in self.isEvaluating(run, state) }) {
        if let unsatisfied = await judge(conditions, of: run) { return unsatisfied }
      }
      while !withState({ state in self.isReady(run, state) }) { await waitForWake(run) }
      let hasStarted = visit { state, _, _ in
        state[run].lifecycle.state == .executing || start(run, &state)
      }
      guard hasStarted else {
        let reason = cancellation(of: run)?.reason
        return Preparation(outcome: .cancelled(reason: reason), error: reason ?? CancellationError())
      }
      return Preparation(outcome: .finished(()))
    } onCancel: {
      self.cancel(run, run.parent?.cancellationReason)
    }
  }

  private func isEvaluating(_ run: StructuredRun, _ state: QueueState) -> Bool {
    state[run].lifecycle.state == .evaluating
  }

  /// Whether the wait for a slot is over: there is one, or a cancel came first.
  private func isReady(_ run: StructuredRun, _ state: QueueState) -> Bool {
    state[run].holdsSlot || state[run].lifecycle.state != .waiting
  }

  private func judge(_ conditions: [Condition], of run: StructuredRun) async -> Preparation? {
    // On a suspended queue the evaluation itself waits.
    while withState({ state in state.machine.isListed(run.member) }) { await waitForWake(run) }
    guard withState({ state in self.isEvaluating(run, state) }) else { return nil }
    let verdict = await Condition.judge(conditions)
    let isTooLate = visit { state, actions, _ in
      guard state[run].lifecycle.state == .evaluating else { return true }
      run.wait = .none
      state.machine.conditionsSettled(run.member, verdict.isSatisfied ? .satisfied : .unsatisfied, &actions)
      return false
    }
    guard !isTooLate else { return nil }
    switch verdict {
    case .satisfied: return nil
    case .ignored(let condition):
      return Preparation(
        outcome: .ignored(by: condition), error: ProcedureError.ignored(procedure: run.identity, by: condition))
    case .failed(let condition, let error):
      let failure = ProcedureError.conditionFailed(procedure: run.identity, condition: condition, underlying: error)
      return Preparation(outcome: .failed(failure), error: failure)
    }
  }

  private func execute<Input: Sendable, Output: Sendable>(
    _ run: StructuredRun, _ operation: @concurrent @Sendable (Input) async throws -> Output, _ input: Input
  ) async throws -> Output {
    try await ProcedureContext(scope: run).run {
      guard broadcaster.isObserved || executor != nil else { return try await operation(input) }
      // Somebody watches: the cancel is to be told when it comes, and not when the body has ended.
      return try await withTaskCancellationHandler {
        try await withTaskExecutorPreference(executor) { try await operation(input) }
      } onCancel: {
        cancel(run, nil)
      }
    }
  }

  /// The body has ended: its slot goes on, or back to the body that lent it.
  private func leave<Output: Sendable>(
    _ run: StructuredRun, _ outcome: ProcedureOutcome<Output>, _ lender: SlotHolder?
  ) async throws -> Output {
    let taskIsCancelled = Task.isCancelled
    let (cancellation, isReturned) = visit { state, actions, effects in
      if taskIsCancelled, run.cancellation == nil {
        state.machine.cancelRequested(run.member, &actions)
        actions.removeAll { $0 == .interrupt(run.member) }
        run.cancellation = Run.Cancellation(reason: nil)
        record(.didCancel(reason: nil), of: run, at: time.now, &state)
      }
      state.machine.bodyEnded(run.member)
      record(.didExecute(attempt: 1), of: run, at: time.now, &state)
      let final = run.cancellation.map { ProcedureOutcome<Void>.cancelled(reason: $0.reason) }
      let isReturned = unseat(run, final ?? outcome.withoutValue, lender, &state, &actions, &effects)
      return (run.cancellation, isReturned)
    }
    if !isReturned, let lender { await waitForWake(lender) }
    if let cancellation { throw cancellation.reason ?? CancellationError() }
    return try outcome.get(of: run.identity)
  }

  private func leaveBeforeBody(_ run: StructuredRun, _ preparation: Preparation, _ lender: SlotHolder?) async {
    let isReturned = visit { state, actions, effects in
      unseat(run, preparation.outcome, lender, &state, &actions, &effects)
    }
    if !isReturned, let lender { await waitForWake(lender) }
  }

  /// - Returns: Whether the lender, if there is one, has its slot again.
  private func unseat(
    _ run: StructuredRun, _ outcome: ProcedureOutcome<Void>, _ lender: SlotHolder?, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> Bool {
    record(.willFinish(outcome), of: run, at: time.now, &state)
    state.unseat(run, &actions, &effects)
    record(.didFinish(outcome), of: run, at: time.now, &state)
    var isReturned = true
    if let lender, lender.member >= 0 {
      lender.wait = .none
      isReturned = state.machine.loanEnded(lender.member, &actions)
    }
    state.machine.settled(&actions)
    return isReturned
  }

  func addCancellationHandler(to run: StructuredRun, key: AnyObject, _ handler: @escaping @Sendable () -> Void) {
    let isCancelled = withState { _ in
      run.cancellationHandlers[ObjectIdentifier(key)] = handler
      return run.cancellation != nil
    }
    if isCancelled { handler() }
  }

  func removeCancellationHandler(from run: StructuredRun, key: AnyObject) {
    withState { _ in _ = run.cancellationHandlers.removeValue(forKey: ObjectIdentifier(key)) }
  }
}
