/// The children of a run, which are cancelled with the run. The run ends only after the children that its body produced have ended.
extension Run {
  enum Adoption {
    case refused
    case adopted
    /// The parent was cancelled, so the child must also be cancelled.
    case cancelled
  }

  /// The queue of the children that the body produces: the queue of the run or, if the run has no queue, the shared queue.
  var queueOfChildren: QueueCore { core === QueueCore.unqueued ? ProcedureQueue.shared.core : core }

  /// Adds a child, which is cancelled with this run. Refuses the child if the outcome of this run has been decided (C1).
  func adopt(_ child: Run, isProduced: Bool = false) -> Adoption {
    let (adoption, progress) = core.update { runs in adopt(child, isProduced: isProduced, &runs) }
    progress?.adopt(child)
    return adoption
  }

  /// Admits a child to the child's queue. This run awaits the child before it ends.
  ///
  /// The child fails if this run has ended, or if the queue refuses the child. If this run was cancelled, the child is cancelled, too.
  func start(
    _ child: Run, as production: RunDetails.Children.Production, after dependencies: [any ProcedureDependency] = []
  ) {
    child.core.update { $0[child].details.children.production = production }
    let adoption = adopt(child, isProduced: true)
    guard adoption != .refused else {
      // No other code reports the refusal.
      child.leaveParent()
      return child.refuse(ProcedureError(.producerFinished, procedure: child.identity) { $0.producer = identity })
    }
    if production == .child { report(.willProduce(child.identity)) }
    if let refusal = child.core.admit(child, after: dependencies) { child.refuse(refusal.error(of: child)) }
    if production == .child { report(.didProduce(child.identity)) }
    if adoption == .cancelled { child.cancel(inheritedReason) }
  }

  /// Adds a child under the lock. The caller adds the child to the returned progress node, if any, after the lock is released.
  func adopt(_ child: Run, isProduced: Bool, _ runs: inout RunTable) -> (Adoption, progress: ProgressNode?) {
    guard !runs[self].isDecided else {
      // An end hook awaits the runs that it calls, whereas no code would await a child that it produces. The caller can also be a task that
      // outlived the body. The end hooks do not wait for such a task, but the search for deadlocks assumes that they do.
      if child.kind != .added, runs[self].member >= 0 { runs[self].details.children.awaitedInHooks[child.id] = child }
      return (.refused, nil)
    }
    runs[self].details.children.byID[child.id] = child
    if isProduced { runs[self].details.children.producedCount += 1 }
    let progress = runs[reported].details.extensions.progress
    return (runs[self].details.isCancelledOrStopping ? .cancelled : .adopted, progress)
  }

  /// A stop that has begun, and that `childFinished` completes.
  struct Stop {
    let failure: ProcedureFailure
    /// Whether the body is not executing, so that the run ends immediately.
    let finishesAtOnce: Bool
  }

  /// Records that a child that the body produced failed, and begins to stop this run, unless it collects failures (D4).
  ///
  /// The child calls this function before its end is visible, and `childFinished` afterwards. Therefore, a body that awaits the child
  /// receives the child's error before its own task is cancelled.
  ///
  /// - Returns: The stop, which `childFinished` completes; `nil` if the run is not stopped, or is already being stopped.
  func childFails(_ child: Run, _ error: any Error) -> Stop? {
    let failure = ProcedureFailure(procedure: child.identity, error: error)
    return core.send { state, _ in
      // A child that this run has refused does not affect it.
      guard state.runs[self].details.children.byID[child.id] != nil else { return nil }
      state.runs[self].details.children.failures.append(failure)
      guard failurePolicy != .collect, !state.runs[self].isDecided, state.runs[self].details.children.stop == .none
      else { return nil }
      state.runs[self].details.children.stop = .begun
      // A run that is pausing, or is waiting for its resources or a slot, ends immediately, because its next execution would be stopped as
      // soon as it began. A condition can have produced the child before the first execution.
      return Stop(failure: failure, finishesAtOnce: state.machine.interrupted(state.runs[self].member))
    }
  }

  /// Records that a child finished. A child that was cancelled does not affect this run (C6).
  func childFinished(_ child: Run, as production: RunDetails.Children.Production, _ stop: Stop?) {
    // The table's reference to the child is released after the lock is released.
    let (_, waiter) = core.update { runs -> (Run?, Waiter?) in
      runs[self].changeDetails { details in
        guard let released = details.children.byID.removeValue(forKey: child.id) else {
          // This run has refused the child.
          return (details.children.awaitedInHooks.removeValue(forKey: child.id), nil)
        }
        if production != .none {
          details.children.producedCount -= 1
          details.children.last = child.identity
        }
        return (released, details.children.producedCount == 0 ? details.children.waiter.take() : nil)
      } ?? (nil, nil)
    }
    if let stop { completeStop(stop) }
    waiter?.resume()
  }

  /// Stops the body because a child that it produced failed. Cancels the other children and the worker's task, and calls the cancellation
  /// handlers. A run whose body is not executing ends immediately.
  private func completeStop(_ stop: Stop) {
    log.log(level: .info, "child \(stop.failure.procedure) failed, stopping its parent: \(stop.failure.error)")
    core.send { state, effects in
      guard !state.runs[self].isDecided else { return }
      state.runs[self].details.children.stop = .complete
      interrupt(finishesAtOnce: stop.finishesAtOnce, &state, &effects) { self.inheritedReason }
    }
  }

  /// Cancels the children of the run, or only the children of one kind, but not the run itself.
  func cancelChildren(_ kind: Kind? = nil) {
    let children = core.read { $0.runs[self].details.children.byID.inOrder }
    for child in children where kind == nil || child.kind == kind { child.cancel(inheritedReason) }
  }

  /// The run's response to the failure of a node, or of a child that the body produced (D4); `nil` if the procedure has no policy.
  var failurePolicy: FailurePolicy? {
    for run in ancestors {
      if let policy = run.layer.traits.failurePolicy { return policy }
      if run.kind != .layer { break }
    }
    return nil
  }

  // MARK: Waiting for children

  /// Waits until the children that the body has produced so far have finished. This is for callers that act on the body's result before the
  /// run ends.
  ///
  /// - Throws: The error of the first child that failed.
  package func waitForChildrenToSucceed() async throws {
    while core.read({ $0.runs[self].details.children.producedCount > 0 }) { await waitForChildren() }
    if let failure = core.read({ $0.runs[self].details.children.failures.first }) { throw failure.error }
  }

  /// Waits, without holding a slot, until the children that the body produced have finished (Q3).
  func waitForChildren() async {
    await suspendDriver { details, waiter in
      guard details.children.producedCount > 0 else { return false }
      details.children.waiter = waiter
      return true
    }
  }
}
