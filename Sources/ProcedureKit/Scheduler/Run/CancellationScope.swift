/// The cancellations of enclosing bodies that a run ignores (C3).
///
/// A body that was cancelled can call procedures to clean up. The cancellation of the body does not apply to such a call or to the runs
/// within it. Only a cancellation of the call itself, such as a timeout, does.
struct CancellationScope: Sendable {
  /// Whether the run is a call that a cancelled body makes to clean up.
  private(set) var cleansUp = false
  /// Whether the run ignores the earlier cancellation of the enclosing body. It does so if the run, or an enclosing run, is cleaning up.
  private(set) var ignoresEnclosing = false
  /// Whether the earlier cancellation of the enclosing body also cancelled the task that executes the run.
  ///
  /// If so, the run must ignore the cancellation of the task.
  ///
  /// The value is usually `false` if `run` executes the enclosing body in its caller's task. Such a task is not cancelled together with the
  /// body, so cancelling the task, for example through a task group, still cancels the run.
  private(set) var ignoresTask = false
  /// Whether the run is a shield. A shield ignores later cancellations of the enclosing body as well as earlier ones.
  private(set) var opensShield = false
  /// Whether the run is within a shield on its queue. If so, the run is not cancelled when all runs of the queue are cancelled.
  private(set) var isShielded = false

  init() {}

  /// The scope for a run that is a shield.
  static var shield: CancellationScope {
    var scope = CancellationScope()
    (scope.cleansUp, scope.ignoresEnclosing, scope.opensShield, scope.isShielded) = (true, true, true, true)
    // The cancellation of the body is hidden from the task of the shield. The run must therefore not ignore the cancellation of this task,
    // or of a child task that the operation cancels.
    return scope
  }

  /// Creates the scope for a procedure that `parent` produces, or that it runs on a queue.
  ///
  /// The procedure can be cancelled separately, but if it is on the queue of an enclosing shield, it is not cancelled when all runs of that
  /// queue are cancelled.
  init(ofChildOf parent: Run, on core: QueueCore) {
    isShielded = parent.core === core && parent.cancellationScope.isShielded
  }

  /// Creates the scope for a procedure that the body of `parent` calls. A body that is being stopped because a child failed cannot clean
  /// up.
  init(ofCallIn parent: Run) {
    let (isTaskCancelled, isCancelled, isStopping) = parent.core.read { state in
      (
        Task.isCancelled && parent.isTaskOfBodyCancelled(state), state.runs[parent].details.cancellation != nil,
        state.runs[parent].details.children.isStopping
      )
    }
    let (mayIgnore, outer) = (!isStopping, parent.cancellationScope)
    cleansUp = mayIgnore && (isTaskCancelled || isCancelled)
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

extension Run {
  /// Returns whether the task of the body was cancelled, rather than only a task within it.
  ///
  /// If a task group cancels its child tasks, it cancels the procedures that they call, but not the body.
  fileprivate func isTaskOfBodyCancelled(_ state: borrowing QueueCore.State) -> Bool {
    if cancellationScope.ignoresTask || state.runs[self].isDecided { return true }
    // A node that has only a body executes in a graph worker's task, or in the task of the graph itself.
    if kind == .bodyOnlyNode, let executing = slotOwner.kind == .graphWorker ? slotOwner : parent {
      return executing.isTaskOfBodyCancelled(state)
    }
    // A worker's task is cancelled only together with the run.
    if isDrivenByWorker { return !hasStarted(state) }
    if let watchedTask = state.runs[self].watchedTask { return watchedTask.isCancelled }
    // If `startStructured` has started the run, the run executes no code other than its body, and cancelling the task cancels the run.
    return kind != .structured || !layer.allowsInlineStartInCallersTask
      || state.runs[self].details.isCancelledOrStopping
  }
}
