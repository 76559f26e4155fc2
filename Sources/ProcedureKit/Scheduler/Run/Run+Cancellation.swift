extension Run {
  /// Cancels the run and everything in it. The first cancel wins; one that comes after the outcome is decided does nothing (C1, C2).
  func cancel(_ reason: (any Error)?) {
    let reading = core.time.reading()
    core.send { state, effects in mark(reason, at: reading, &state, &effects) }
  }

  /// Marks the run as cancelled, under the lock. A run that has not started leaves every line. The cancel reaches what is in the run before
  /// the end of the run is told (C5).
  func mark(
    _ reason: (any Error)?, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    guard member >= 0, !isDecided, cancellation == nil else { return }
    let details = ensureDetails()
    details.eventsBeforeCancel = pastEventCount
    details.cancel = Cancel(reason: reason)
    details.cancelInstant = stamp(reading.instant).nanoseconds
    if isReported { record(.didCancel(reason: reason), at: reading.instant, &effects) }
    let isBeforeStart = state.machine.stopRequested(member)
    let (children, handlers, timer) = (details.children.inOrder, details.handlers.inOrder, details.pauseTimer.take())
    let worker = isBeforeStart ? nil : worker
    if timer != nil || worker != nil || !children.isEmpty || !handlers.isEmpty {
      let propagate = { @Sendable [core] in
        if let timer { core.timers.cancel(timer) }
        for child in children { child.cancel(reason) }
        for handler in handlers { handler() }
        worker?.cancel()
      }
      effects.add(.propagate(propagate))
    }
    if isBeforeStart { QueueCore.deliver(.finish, to: self, &effects) }
  }

  /// Stops the body since a produced child has failed: everything in the run is cancelled, and its task is told.
  func stop() {
    let (children, handlers) = core.withState { _ -> ([Run], [@Sendable () -> Void]) in
      guard !isDecided, let details, !details.isStopping else { return ([], []) }
      details.isStopping = true
      var handlers = details.handlers.inOrder
      if let worker { handlers.append { worker.cancel() } }
      return (details.children.inOrder, handlers)
    }
    for child in children { child.cancel(inheritedReason) }
    for handler in handlers { handler() }
  }

  /// The failure of a produced child that stops the body. Called under the lock.
  var failFast: ProcedureFailure? { details.flatMap { $0.isStopping ? $0.failures.first : nil } }

  /// Whether the run was cancelled, or is being stopped by a child.
  var isCancelledOrStopping: Bool {
    core.withState { _ in details.map { $0.cancel != nil || $0.isStopping } ?? false }
  }

  /// Whether the run is cancelled or being stopped, or the task that executes the body: the one answer for modifiers, waits and contexts.
  ///
  /// What a cancelled body calls to clean up ignores the earlier cancellation of the task (Q1). Only its own cancellation, such as a timeout,
  /// counts for it.
  var isCancelled: Bool {
    if !ignoresTaskCancellation, Task.isCancelled { return true }
    if !ignoresEarlierCancel, isPartOfBody, slotOwner.isCancelledOrStopping { return true }
    return isCancelledOrStopping
  }

  /// Whether the cancellation of a task within the body came with that of the body's own task. A task group that cancels its child tasks
  /// cancels what these call, and not the body.
  var isTaskOfBodyCancelled: Bool {
    if ignoresTaskCancellation { return true }
    return core.withState { _ in
      // A worker's task is cancelled only with the run.
      isDecided || (isDrivenByWorker ? !hasStarted : watchedTask?.isCancelled ?? true)
    }
  }

  /// Whether a produced child has failed and stops the body.
  var isStopping: Bool { core.withState { _ in details?.isStopping ?? false } }

  // MARK: Handlers

  /// Runs the operation, and calls `onCancel` once the task or the run is cancelled, at once if it was before. A cancel ends nothing that hooks
  /// of the end wait for.
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

  /// Runs the operation, and calls `onCancel` once the run is cancelled or stopped, at once if it was before (C3).
  nonisolated(nonsending) func withRunCancellationHandler<R>(
    operation: nonisolated(nonsending) () async throws -> R, onCancel: @escaping @Sendable () -> Void
  ) async rethrows -> R {
    let key = ProcedureID.reserve()
    let wasStopped = core.withState { _ in
      ensureDetails().handlers[key] = onCancel
      return !isDecided && details.map { $0.cancel != nil || $0.isStopping } ?? false
    }
    if wasStopped { onCancel() }
    defer {
      let handler = core.withState { _ in details?.handlers.removeValue(forKey: key) }
      _ = handler
    }
    return try await operation()
  }

  // MARK: Children

  enum Adoption {
    case refused
    case adopted
    /// The parent was cancelled: the child is cancelled as well.
    case cancelled
  }

  /// Takes a child, which is cancelled with this run. Not when the outcome is decided.
  func adopt(_ child: Run, isProduced: Bool = false) -> Adoption {
    let (adoption, progress) = core.withState { _ -> (Adoption, ProgressNode?) in
      guard !isDecided else { return (.refused, nil) }
      let details = ensureDetails()
      details.children[child.id] = child
      if isProduced { details.producedCount += 1 }
      return (details.cancel != nil || details.isStopping ? .cancelled : .adopted, reported.details?.progress)
    }
    progress?.adopt(child)
    return adoption
  }

  /// A child has ended. The failure of a produced one stops this run, if its policy is to fail fast.
  func childEnded(_ child: Run, _ outcome: ProcedureOutcome<Void>, as production: RunDetails.Production) {
    var failure: ProcedureFailure?
    if production == .child, case .failed(let error) = outcome {
      failure = ProcedureFailure(procedure: child.identity, error: error)
    }
    let (released, stops, settling) = core.withState { _ -> (Run?, Bool, Waiter?) in
      // A refused child was never one.
      guard let details, let released = details.children.removeValue(forKey: child.id) else { return (nil, false, nil) }
      if production != .none {
        details.producedCount -= 1
        details.lastChild = child.identity
      }
      if let failure { details.failures.append(failure) }
      let stops = failure != nil && errorPolicy != .continue
      return (released, stops, details.producedCount == 0 ? details.settling.take() : nil)
    }
    _ = released
    if stops {
      logStop(by: child, outcome)
      stop()
    }
    settling?.resume()
  }

  /// The response of the run to the failure of a produced child or a node, if the procedure has a policy.
  var errorPolicy: ErrorPolicy? {
    for run in ancestors {
      if let policy = run.layer.traits.errorPolicy { return policy }
      if run.kind != .layer { break }
    }
    return nil
  }
}
