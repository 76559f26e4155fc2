extension Run {
  /// Cancels the run and everything in it. The first cancel wins; one that comes after the outcome is decided does nothing (C1, C2).
  func cancel(_ reason: (any Error)?) {
    let reading = core.time.reading()
    core.send { state, effects in mark(reason, at: reading, &state, &effects) }
  }

  /// Marks the run as cancelled. A run that has not started leaves every line. Cancels the children before the end of the run is published (C5).
  func mark(
    _ reason: (any Error)?, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    let member = state.runs[self].member
    guard member >= 0, !state.runs[self].isDecided, state.runs[self].details.cancellation == nil else { return }
    let eventsBefore = state.runs[self].pastEventCount
    let instant = state.runs[self].stamp(reading.instant).nanoseconds
    state.runs[self].details.cancellation = RunDetails.Cancellation(
      reason: reason, instant: instant, eventsBefore: eventsBefore)
    if isReported { record(at: reading.instant, &state, &effects) { _ in .didCancel(reason: reason) } }
    let isBeforeStart = state.machine.stopRequested(member)
    let children = state.runs[self].details.children.byID.inOrder
    let handlers = state.runs[self].details.cancellationHandlers.inOrder
    let timer = state.runs[self].details.pause.timer.take()
    let worker = isBeforeStart ? nil : state.runs[self].worker
    if timer != nil || worker != nil || !children.isEmpty || !handlers.isEmpty {
      let propagate = { @Sendable [core] in
        if let timer { core.timers.cancel(timer) }
        for child in children { child.cancel(reason) }
        for handler in handlers { handler() }
        worker?.cancel()
      }
      effects.add(.propagate(propagate))
    }
    if isBeforeStart { QueueCore.deliver(.finish, to: self, &state.runs, &effects) }
  }

  /// Stops the body since a produced child has failed: everything in the run is cancelled, and its task is told.
  func stop() {
    let (children, handlers) = core.update { runs -> ([Run], [@Sendable () -> Void]) in
      guard !runs[self].isDecided, !runs[self].details.children.isStopping else { return ([], []) }
      runs[self].details.children.isStopping = true
      var handlers = runs[self].details.cancellationHandlers.inOrder
      if let worker = runs[self].worker { handlers.append { worker.cancel() } }
      return (runs[self].details.children.byID.inOrder, handlers)
    }
    for child in children { child.cancel(inheritedReason) }
    for handler in handlers { handler() }
  }

  /// Whether the run was cancelled, or is being stopped by a child.
  var isCancelledOrStopping: Bool {
    core.read { $0.runs[self].details.isCancelledOrStopping }
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
    return core.read { state in
      if state.runs[self].isDecided { return true }
      // A worker's task is cancelled only with the run.
      return isDrivenByWorker ? !state.runs[self].hasStarted : state.runs[self].watchedTask?.isCancelled ?? true
    }
  }

  /// Whether a produced child has failed and stops the body.
  var isStopping: Bool { core.read { $0.runs[self].details.children.isStopping } }

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
    /// The parent was cancelled: the child is cancelled as well.
    case cancelled
  }

  /// Takes a child, which is cancelled with this run. Not when the outcome is decided.
  func adopt(_ child: Run, isProduced: Bool = false) -> Adoption {
    let (adoption, progress) = core.update { runs -> (Adoption, ProgressNode?) in
      guard !runs[self].isDecided else { return (.refused, nil) }
      runs[self].details.children.byID[child.id] = child
      if isProduced { runs[self].details.children.producedCount += 1 }
      let progress = runs[reported].details.extensions.progress
      return (runs[self].details.isCancelledOrStopping ? .cancelled : .adopted, progress)
    }
    progress?.adopt(child)
    return adoption
  }

  /// A child has ended. The failure of a produced one stops this run, if its policy is to fail fast.
  func childEnded(_ child: Run, _ outcome: ProcedureOutcome<Void>, as production: RunDetails.Children.Production) {
    var failure: ProcedureFailure?
    if production == .child, case .failed(let error) = outcome {
      failure = ProcedureFailure(procedure: child.identity, error: error)
    }
    let (released, stops, settling) = core.update { runs -> (Run?, Bool, Waiter?) in
      runs[self].changeDetails { details in
        // A refused child was never one.
        guard let released = details.children.byID.removeValue(forKey: child.id) else { return (nil, false, nil) }
        if production != .none {
          details.children.producedCount -= 1
          details.children.last = child.identity
        }
        if let failure { details.children.failures.append(failure) }
        let stops = failure != nil && errorPolicy != .continue
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

  /// The response of the run to the failure of a produced child or a node, if the procedure has a policy.
  var errorPolicy: ErrorPolicy? {
    for run in ancestors {
      if let policy = run.layer.traits.errorPolicy { return policy }
      if run.kind != .layer { break }
    }
    return nil
  }
}
