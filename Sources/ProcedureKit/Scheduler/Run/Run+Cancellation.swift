extension Run {
  /// Cancels the run and its children. Only the first cancellation takes effect, and only before the outcome is decided (C1, C2).
  package func cancel(_ reason: (any Error)?) {
    let reading = core.time.reading()
    core.send { state, effects in _ = mark(reason, at: reading, &state, &effects) }
  }

  /// Marks the run as cancelled, and adds the effects on the handlers, the children, and the worker's task to `effects` (C3).
  ///
  /// A run whose body is not executing ends immediately and no longer waits for anything (C2). The children are cancelled before
  /// `didFinish` is published (C3).
  ///
  /// - Returns: Whether the run had not been cancelled before, and its outcome had not been decided. If so, the run ends as cancelled.
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

  /// Adds the effects that a cancellation, a stop, or an unsuccessful dependency has on the children, the handlers, and the worker's task
  /// (C3).
  ///
  /// - Parameters:
  ///   - endsAtOnce: Whether the run finishes immediately. It does so if its body is not executing.
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
      effects.add(.call(propagate))
    }
    if endsAtOnce { QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
  }

  /// Whether the run was cancelled, or is being stopped because a child failed.
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

  /// Whether the run ignores the cancellation of the current task. It does so if the task was already cancelled when the run was called.
  var ignoresTaskCancellation: Bool { cancellationScope.ignoresTask }

  /// Whether the task of the body was cancelled, rather than only a task within it.
  ///
  /// If a task group cancels its child tasks, it cancels the procedures that they call, but not the body.
  var isTaskOfBodyCancelled: Bool { core.read { isTaskOfBodyCancelled($0.runs) } }

  private func isTaskOfBodyCancelled(_ runs: borrowing RunTable) -> Bool {
    if ignoresTaskCancellation || runs[self].isDecided { return true }
    // A node that has only a body executes in a graph worker's task, or in the task of the graph itself.
    if kind == .bareNode, let executing = slotOwner.kind == .graphWorker ? slotOwner : parent {
      return executing.isTaskOfBodyCancelled(runs)
    }
    // A worker's task is cancelled only together with the run.
    if isDrivenByWorker { return !runs[self].hasStarted }
    if let watchedTask = runs[self].watchedTask { return watchedTask.isCancelled }
    // If `startStructured` has started the run, the run executes no code other than its body, and cancelling the task cancels the run.
    return kind != .structured || !layer.canStartInCallersTask || runs[self].details.isCancelledOrStopping
  }

  /// Whether the body is being stopped because a produced child failed.
  var isStopping: Bool { core.read { $0.runs[self].details.children.isStopping } }

  // MARK: The task of the caller

  /// Whether the task that drives the run was cancelled, and this cancellation applies to the run (C4).
  var isTaskCancelled: Bool { !isDrivenByWorker && !ignoresTaskCancellation && Task.isCancelled }

  /// Cancels the run because the task that executes it was cancelled. The reason is the one for which the enclosing run was cancelled, if
  /// any.
  @usableFromInline
  func cancelLikeParent() {
    // An earlier cancellation wins (C1). If the run is being stopped because a child failed, its task has been cancelled, but the run has
    // not.
    if isCancelledOrStopping { return }
    cancel(parent.flatMap(\.inheritedReason))
  }

  /// The reason why the run, or the nearest enclosing run, was cancelled or stopped; `nil` if there is none.
  var inheritedReason: (any Error)? {
    for run in ancestors {
      let (reason, stop, graph) = run.core.read { state in
        let (cancellation, graph) = (state.runs[run].details.cancellation, state.runs[run].details.extensions.graph)
        return (cancellation?.reason, state.runs[run].details.children.failFast, graph)
      }
      if let reason = reason ?? (stop ?? graph?.failFast).map({ .stopped(run.identity, by: $0) }) { return reason }
    }
    return nil
  }

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
}
