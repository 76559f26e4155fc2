extension Run {
  /// Cancels the run and its children. Only the first cancellation takes effect, and only before the outcome is decided (C1, C2).
  ///
  /// If `isFailure` is `true`, the run fails with the reason instead of being cancelled (C5, R4).
  package func cancel(_ reason: (any Error)?, asFailure isFailure: Bool = false) {
    let reading = core.time.reading()
    core.send { state, effects in _ = mark(reason, asFailure: isFailure, at: reading, &state, &effects) }
  }

  /// Marks the run as cancelled, and adds the effects on the handlers, the children, and the worker's task to `effects` (C3).
  ///
  /// A run that is waiting to start, or to execute its body again, stops waiting and finishes immediately (C2). The children are cancelled
  /// before `didFinish` is published (C3).
  ///
  /// - Returns: Whether this call cancelled the run; `false` if the run had already been cancelled, or if its outcome had already been
  ///   decided.
  @discardableResult
  func mark(
    _ reason: (any Error)?, asFailure isFailure: Bool = false, at reading: QueueClock.Reading,
    _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects
  ) -> Bool {
    let member = state.runs[self].member
    // The run has ended, its outcome is decided, or an earlier cancellation wins (C1).
    guard member >= 0, !state.runs[self].isDecided, state.runs[self].details.cancellation == nil else { return false }
    let eventsBefore = state.runs[self].pastEventCount
    let instant = state.runs[self].stamp(core.time.instant(of: reading)).nanoseconds
    state.runs[self].details.cancellation = RunDetails.Cancellation(
      reason: reason, instant: instant, eventsBefore: eventsBefore, isFailure: isFailure)
    if isReported {
      record(at: core.time.instant(of: reading), &state, &effects) { _ in .init(step: .didCancel(reason: reason)) }
    }
    interrupt(finishesAtOnce: state.machine.interrupted(member), &state, &effects) { reason }
    return true
  }

  /// Records that the body starts, and returns the body; returns `nil` if the run was cancelled or stopped first (C2, D4).
  func startBodyUnlessCancelled() -> Body? {
    let reading = core.time.lazyReading()
    cancelIfTaskIsCancelled()
    // The deadline has passed, but its timer has not fired yet.
    if let deadline = layer.traits.deadline, deadline.remaining <= .zero { deadlinePassed() }
    return core.send { state, effects in
      guard !state.runs[self].details.preventsStart, state.runs[self].member >= 0 else { return nil }
      startBody(at: reading, &state, &effects)
      return state.runs[self].body
    }
  }

  /// Adds the effects that a cancellation, a stop, or an unsuccessful dependency has on the children, the handlers, and the worker's task
  /// (C3).
  ///
  /// - Parameters:
  ///   - finishesAtOnce: Whether the run finishes immediately. It does so if its body is not executing.
  ///   - state: The state.
  ///   - effects: Receives the effects.
  ///   - reason: A function that returns the reason for cancelling the children. It is called after the lock is released.
  func interrupt(
    finishesAtOnce: Bool, _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects,
    childReason reason: @escaping @Sendable () -> (any Error)?
  ) {
    let children = state.runs[self].details.children.byID.inOrder.filter { !$0.cancellationScope.opensShield }
    let handlers = state.runs[self].details.cancellationHandlers.inOrder
    let timer = finishesAtOnce ? state.runs[self].details.pause.timer.take() : nil
    // The worker is cancelled only if it is executing this run. Otherwise, its task belongs to another run (C6).
    let worker = finishesAtOnce ? nil : state.worker(of: self)
    if timer != nil || worker != nil || !children.isEmpty || !handlers.isEmpty {
      let propagate = { @Sendable [core] in
        if let timer { core.timers.cancel(timer) }
        for child in children { child.cancel(reason()) }
        for handler in handlers { handler() }
        worker?.cancel()
      }
      effects.add(.call(propagate))
    }
    if finishesAtOnce { QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
  }

  // MARK: Whether the run was cancelled

  /// Whether the run was cancelled, or is being stopped because a child failed.
  ///
  /// This is one of four properties, which take different things into account:
  ///
  /// | property | the run | the task | the enclosing body | used by |
  /// |---|---|---|---|---|
  /// | `isCancelledOrStopping` | yes | no | no | the scheduler |
  /// | `isTaskCancelled` | no | yes, if the caller's task drives the run | no | the scheduler, to cancel the run after a wait |
  /// | `isCancelled` | yes | yes | yes, if the run uses its slot | modifiers, waits, contexts |
  /// | `NodeFrame.isCancelled` | yes, if the node has a run | yes | yes | contexts of nodes |
  ///
  /// A procedure that a cancelled body calls to clean up ignores the cancellations that `CancellationScope` lists. Therefore, only its own
  /// cancellation, such as a timeout, affects it.
  var isCancelledOrStopping: Bool { core.read { $0.runs[self].details.isCancelledOrStopping } }

  /// Whether the run, the current task, or the enclosing body was cancelled or is being stopped; see `isCancelledOrStopping`.
  package var isCancelled: Bool {
    if !cancellationScope.ignoresTask, Task.isCancelled { return true }
    if !cancellationScope.ignoresEnclosing, usesSlotOfBody, slotOwner.isCancelledOrStopping { return true }
    return isCancelledOrStopping
  }

  /// Whether the task that drives the run was cancelled in a way that cancels the run (C4); see `isCancelledOrStopping`.
  var isTaskCancelled: Bool { followsTask && Task.isCancelled }

  /// Whether cancelling the task that drives the run cancels the run (C4). A worker's task is cancelled only together with the run.
  var followsTask: Bool { !isDrivenByWorker && !cancellationScope.ignoresTask }

  /// Cancels the run if the task that drives it was cancelled (C4).
  func cancelIfTaskIsCancelled() {
    if isTaskCancelled { cancelLikeParent() }
  }

  /// Cancels the run because the task that executes it was cancelled. The reason is the one for which the enclosing run was cancelled, if
  /// any.
  @usableFromInline
  func cancelLikeParent() {
    // An earlier cancellation wins (C1). If the run is being stopped because a child failed, its task has been cancelled, but the run has
    // not.
    if isCancelledOrStopping { return }
    cancel(parent.flatMap(\.inheritedReason))
  }

  /// The reason the run, or the nearest enclosing run, was cancelled or stopped; `nil` if there is none.
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

  /// The error with which a cancelled wait of the run ends: the reason for the cancellation, or `CancellationError` if there is none.
  var cancellationError: any Error { inheritedReason ?? CancellationError() }

  // MARK: Handlers

  /// Runs an operation, and calls `onCancel` when the task or the run is cancelled, or immediately if either is already cancelled (C3).
  ///
  /// Cancellation does not interrupt waits inside end hooks.
  nonisolated(nonsending) func withTaskAndRunCancellationHandler<R>(
    operation: nonisolated(nonsending) () async throws -> R, onCancel: @escaping @Sendable () -> Void
  ) async rethrows -> R {
    try await withRunCancellationHandler {
      if cancellationScope.ignoresTask { return try await operation() }
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
      _ = core.update { runs in runs[self].details.cancellationHandlers.removeValue(forKey: key) }
    }
    return try await operation()
  }
}
