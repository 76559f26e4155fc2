extension Run {
  /// Cancels the run and its children. Only the first cancellation takes effect, and only before the outcome is decided (C1, C2).
  package func cancel(_ reason: (any Error)?) {
    let reading = core.time.reading()
    core.send { state, effects in _ = mark(reason, at: reading, &state, &effects) }
  }

  /// Marks the run as cancelled, and adds the effects on the handlers, the children, and the worker's task to `effects` (C3).
  ///
  /// A run whose body is not executing ends immediately and no longer waits for anything (C2). The children are cancelled before
  /// `didFinish` is published (C5).
  ///
  /// - Returns: Whether this cancellation is the first one and precedes the outcome. If so, the run ends as cancelled.
  @discardableResult
  func mark(
    _ reason: (any Error)?, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) -> Bool {
    let member = state.runs[self].member
    // The run has ended, its outcome is decided, or an earlier cancellation wins (C1).
    guard member >= 0, !state.runs[self].isDecided, state.runs[self].details.cancellation == nil else { return false }
    let eventsBefore = state.runs[self].pastEventCount
    let instant = state.runs[self].stamp(reading.instant).nanoseconds
    state.runs[self].details.cancellation = RunDetails.Cancellation(
      reason: reason, instant: instant, eventsBefore: eventsBefore)
    if isReported { record(at: reading.instant, &state, &effects) { _ in .didCancel(reason: reason) } }
    interrupt(endsAtOnce: state.machine.stopRequested(member), &state, &effects) { reason }
    return true
  }

  /// Stops the body because a produced child failed: cancels the children and the worker's task, and calls the cancellation handlers.
  ///
  /// A run that is between two executions of its body ends immediately.
  func stop() {
    core.send { state, effects in
      guard !state.runs[self].isDecided, !state.runs[self].details.children.isStopping else { return }
      state.runs[self].details.children.isStopping = true
      // A run that is pausing, or is waiting for its resources or a slot after a pause, ends immediately, because its next execution would
      // be stopped as soon as it began.
      let endsAtOnce =
        layer.repeats && state.runs[self].hasStarted && state.machine.stopRequested(state.runs[self].member)
      interrupt(endsAtOnce: endsAtOnce, &state, &effects) { self.inheritedReason }
    }
  }

  /// Adds the effects that a cancellation, a stop, or an unsuccessful dependency has on the children, the handlers, and the worker's task
  /// (C3).
  ///
  /// - Parameters:
  ///   - endsAtOnce: Whether the run finishes immediately, because its body is not executing.
  ///   - state: The state.
  ///   - effects: Receives the effects.
  ///   - reason: Returns the reason for the cancellation of the children. It is called after the lock is released.
  func interrupt(
    endsAtOnce: Bool, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects,
    childReason reason: @escaping @Sendable () -> (any Error)?
  ) {
    let children = state.runs[self].details.children.byID.inOrder.filter { !$0.cancellationScope.opensShield }
    let handlers = state.runs[self].details.cancellationHandlers.inOrder
    let timer = state.runs[self].details.pause.timer.take()
    // The worker is cancelled only if it is executing this run. Otherwise, its task belongs to another run (C6).
    let worker = endsAtOnce ? nil : state.runs[self].worker
    if timer != nil || worker != nil || !children.isEmpty || !handlers.isEmpty {
      let propagate = { @Sendable [core] in
        if let timer { core.timers.cancel(timer) }
        for child in children { child.cancel(reason()) }
        for handler in handlers { handler() }
        worker?.cancel()
      }
      effects.add(.propagate(propagate))
    }
    if endsAtOnce { QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
  }

  /// Whether the run was cancelled, or a failed child is stopping it.
  var isCancelledOrStopping: Bool {
    core.read { $0.runs[self].details.isCancelledOrStopping }
  }

  /// Whether the run, or the task that executes the body, was cancelled or is being stopped. Modifiers, waits, and contexts all use this
  /// property.
  ///
  /// A procedure that a cancelled body calls to clean up ignores the earlier cancellation. Only its own cancellation, such as a timeout,
  /// affects it.
  package var isCancelled: Bool {
    if !ignoresTaskCancellation, Task.isCancelled { return true }
    if !cancellationScope.ignoresEnclosing, usesSlotOfBody, slotOwner.isCancelledOrStopping { return true }
    return isCancelledOrStopping
  }

  /// Whether the run ignores the cancellation of the current task, because the task was already cancelled when it called the run.
  var ignoresTaskCancellation: Bool { cancellationScope.ignoresTask }

  /// Whether the task of the body was cancelled, rather than only a task within it.
  ///
  /// If a task group cancels its child tasks, it cancels the procedures that they call, but not the body.
  var isTaskOfBodyCancelled: Bool { core.read { isTaskOfBodyCancelled($0.runs) } }

  private func isTaskOfBodyCancelled(_ runs: borrowing RunTable) -> Bool {
    if ignoresTaskCancellation || runs[self].isDecided { return true }
    // A node that has only a body executes in the task of a graph worker, or in the task of the graph itself.
    if kind == .bareNode, let executing = slotOwner.kind == .graphWorker ? slotOwner : parent {
      return executing.isTaskOfBodyCancelled(runs)
    }
    // A worker's task is cancelled only together with the run.
    if isDrivenByWorker { return !runs[self].hasStarted }
    if let watchedTask = runs[self].watchedTask { return watchedTask.isCancelled }
    // If `startStructured` has started the run, the run executes no code but its body, and cancelling the task cancels the run.
    return kind != .structured || !layer.canStartInCallersTask || runs[self].details.isCancelledOrStopping
  }

  /// Whether a produced child has failed and is stopping the body.
  var isStopping: Bool { core.read { $0.runs[self].details.children.isStopping } }

  // MARK: Handlers

  /// Runs an operation, and calls `onCancel` when the task or the run is cancelled, or immediately if either is already cancelled (C3).
  ///
  /// Cancellation does not interrupt waits inside `onWillFinish` and `onDidFinish`.
  nonisolated(nonsending) func withTaskAndRunCancellationHandler<R>(
    operation: nonisolated(nonsending) () async throws -> R, onCancel: @escaping @Sendable () -> Void
  ) async rethrows -> R {
    try await withRunCancellationHandler {
      if ignoresTaskCancellation { return try await operation() }
      return try await withTaskCancellationHandler(operation: operation, onCancel: onCancel)
    } onCancel: {
      onCancel()
    }
  }

  /// Runs an operation, and calls `onCancel` when the run is cancelled or stopped, or immediately if that has already happened (C3).
  nonisolated(nonsending) func withRunCancellationHandler<R>(
    operation: nonisolated(nonsending) () async throws -> R, onCancel: @escaping @Sendable () -> Void
  ) async rethrows -> R {
    let key = ProcedureID.reserve()
    let wasStopped = core.update { runs in
      runs[self].details.cancellationHandlers[key] = onCancel
      return !runs[self].isDecided && runs[self].details.isCancelledOrStopping
    }
    if wasStopped { onCancel() }
    defer {
      let handler = core.update { runs in runs[self].details.cancellationHandlers.removeValue(forKey: key) }
      _ = handler
    }
    return try await operation()
  }

  // MARK: Children

  enum Adoption {
    case refused
    case adopted
    /// The parent was cancelled, so the child must also be cancelled.
    case cancelled
  }

  /// Adds a child, which is cancelled with this run. Refuses the child if the outcome of this run has been decided (C1).
  func adopt(_ child: Run, isProduced: Bool = false) -> Adoption {
    let (adoption, progress) = core.update { runs in adopt(child, isProduced: isProduced, &runs) }
    progress?.adopt(child)
    return adoption
  }

  /// Admits a child to the child's queue. This run awaits the child before it ends.
  ///
  /// The child fails if this run has ended, or if the queue refuses the child, and is cancelled if this run was cancelled.
  func start(
    _ child: Run, as production: RunDetails.Children.Production, after dependencies: [any ProcedureDependency] = []
  ) {
    child.core.update { $0[child].details.children.production = production }
    let adoption = adopt(child, isProduced: true)
    guard adoption != .refused else {
      // No other code reports the refusal.
      child.leaveParent()
      return child.refuse(ProcedureError.producerFinished(procedure: child.identity, producer: identity))
    }
    if production == .child { report(.willProduce(child.identity)) }
    if let refusal = child.core.admit(child, after: dependencies) { child.refuse(refusal.error(of: child)) }
    if production == .child { report(.didProduce(child.identity)) }
    if adoption == .cancelled { child.cancel(inheritedReason) }
  }

  /// Adds a child under the lock. The caller adds the child to the returned progress node, if any, after the lock is released.
  func adopt(_ child: Run, isProduced: Bool, _ runs: inout RunTable) -> (Adoption, progress: ProgressNode?) {
    guard !runs[self].isDecided else { return (.refused, nil) }
    runs[self].details.children.byID[child.id] = child
    if isProduced { runs[self].details.children.producedCount += 1 }
    let progress = runs[reported].details.extensions.progress
    return (runs[self].details.isCancelledOrStopping ? .cancelled : .adopted, progress)
  }

  /// Records that a child ended. The failure of a produced child stops this run, unless the run collects failures.
  func childEnded(_ child: Run, _ outcome: ProcedureOutcome<Void>, as production: RunDetails.Children.Production) {
    var failure: ProcedureFailure?
    if production == .child, case .failed(let error) = outcome {
      failure = ProcedureFailure(procedure: child.identity, error: error)
    }
    let (released, stops, settling) = core.update { runs -> (Run?, Bool, Waiter?) in
      runs[self].changeDetails { details in
        // This run has refused the child.
        guard let released = details.children.byID.removeValue(forKey: child.id) else { return (nil, false, nil) }
        if production != .none {
          details.children.producedCount -= 1
          details.children.last = child.identity
        }
        if let failure { details.children.failures.append(failure) }
        let stops = failure != nil && failurePolicy != .collect
        return (released, stops, details.children.producedCount == 0 ? details.children.settling.take() : nil)
      } ?? (nil, false, nil)
    }
    _ = released
    if stops {
      logStop(by: child, outcome)
      stop()
    }
    settling?.resume()
  }

  /// The response of the run to the failure of a produced child or a node (D4); `nil` if the procedure has no policy.
  var failurePolicy: FailurePolicy? {
    for run in ancestors {
      if let policy = run.layer.traits.failurePolicy { return policy }
      if run.kind != .layer { break }
    }
    return nil
  }
}

/// The earlier cancellations that a run ignores (C3).
///
/// A body that was cancelled can call procedures to clean up. The cancellation of the body does not apply to such a call or to the runs
/// within it. Only a cancellation of the call itself, such as a timeout, does.
struct CancellationScope: Sendable {
  /// Whether the run is a call that a cancelled body makes to clean up.
  private(set) var cleansUp = false
  /// Whether the run ignores the earlier cancellation of the enclosing body, because the run, or an enclosing run, is cleaning up.
  private(set) var ignoresEnclosing = false
  /// Whether the earlier cancellation of the enclosing body also cancelled the task that executes the run.
  ///
  /// If so, the run must ignore the cancellation of the task.
  ///
  /// The value is usually `false` if `run` executes the enclosing body in its caller's task. Such a task is not cancelled together with the
  /// body, so a task group can still cancel the run through it.
  private(set) var ignoresTask = false
  /// Whether the run opens a shield, which protects it from later cancellations of the enclosing body as well as from earlier ones.
  private(set) var opensShield = false
  /// Whether the run is within a shield on its queue. If so, the run is not cancelled when all runs of the queue are cancelled.
  private(set) var isShielded = false

  init() {}

  /// The scope for a run that opens a shield.
  static var shield: CancellationScope {
    var scope = CancellationScope()
    (scope.cleansUp, scope.ignoresEnclosing, scope.opensShield, scope.isShielded) = (true, true, true, true)
    // The cancellation of the body is hidden from the task of the shield. The run must therefore not ignore the cancellation of this task,
    // or of a child task that the operation cancels.
    return scope
  }

  /// The scope for a procedure that `parent` runs on a queue or produces.
  ///
  /// The procedure can be cancelled separately, but if it is on the queue of an enclosing shield, it is not cancelled when all runs of that
  /// queue are cancelled.
  init(ofChildOf parent: Run, on core: QueueCore) {
    isShielded = parent.core === core && parent.cancellationScope.isShielded
  }

  /// The scope for a procedure that the body of `parent` calls. A body cannot clean up while a failed child is stopping it.
  init(ofCallIn parent: Run) {
    let (mayIgnore, outer) = (!parent.isStopping, parent.cancellationScope)
    let isTaskCancelled = Task.isCancelled && parent.isTaskOfBodyCancelled
    cleansUp = mayIgnore && (isTaskCancelled || parent.isCancelledOrStopping)
    ignoresEnclosing = cleansUp || mayIgnore && outer.ignoresEnclosing
    let isTaskCancelledWithBody = cleansUp ? parent.slotOwner.kind != .structured : outer.ignoresTask
    ignoresTask = ignoresEnclosing && (isTaskCancelledWithBody || isTaskCancelled)
    isShielded = outer.isShielded
  }

  /// The scope for a part of the run: a layer, a copy, or a node.
  var ofPart: CancellationScope {
    var scope = self
    (scope.cleansUp, scope.opensShield) = (false, false)
    return scope
  }
}
