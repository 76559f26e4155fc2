/// Managing procedures that the caller knows from an event, a snapshot or a stored id, and not by a handle.
extension ProcedureQueue {
  /// Cancels a procedure of the queue together with its children, nested runs and nodes, as ``ProcedureHandle/cancel(_:)`` does.
  ///
  /// A node without modifiers has no run that could be cancelled on its own; cancel its graph.
  ///
  /// - Parameters:
  ///   - id: The id of the run: ``ProcedureHandle/id``, ``ProcedureEvent/id``, or the id in a ``QueueSnapshot``.
  ///   - reason: The reason for the cancellation; `nil` for `CancellationError`.
  /// - Returns: Whether the queue has an unfinished procedure with this id. A procedure whose outcome is already decided keeps its outcome.
  /// - Complexity: O(n log n) for n procedures on the queue.
  @discardableResult
  public nonisolated func cancel(_ id: ProcedureID, _ reason: (any Error)? = nil) -> Bool {
    guard let run = core.unfinishedRun(id) else { return false }
    run.cancel(reason)
    return true
  }

  /// Cancels the procedures of the queue that a predicate selects, at the same time: the end of one does not let another one start.
  ///
  /// ```swift
  /// queue.cancel { $0.key == "tenant 7" && $0.state != .executing }
  /// ```
  ///
  /// The predicate sees one ``snapshot()``. A selected procedure that has finished in the meantime is not affected, and one that has started in
  /// the meantime is cancelled, too. The children, nested runs and nodes of a selected procedure are cancelled with it.
  ///
  /// - Parameters:
  ///   - reason: The reason for the cancellation; `nil` for `CancellationError`.
  ///   - isSelected: Returns whether to cancel a procedure. It is called without a lock, and can use the queue.
  /// - Throws: The error of the predicate, in which case no procedure is cancelled.
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func cancel(
    _ reason: (any Error)? = nil, where isSelected: (QueueSnapshot.Entry) throws -> Bool
  ) rethrows {
    let selected = Set(try snapshot().procedures.filter(isSelected).map(\.procedure.id))
    guard !selected.isEmpty else { return }
    core.cancelRuns { run, _ in selected.contains(run.id) ? RunDetails.Cancellation(reason: reason) : nil }
  }

  /// Changes the priority of a procedure that is waiting to start, or that is pausing before its next attempt.
  ///
  /// The procedure keeps its position among the procedures of the new priority, which is that of its admission. A higher priority also raises
  /// the procedures for which it waits (Q7). A lower priority applies even if a procedure of a higher priority waits for this one.
  ///
  /// - Parameters:
  ///   - priority: The new priority in the ready queue.
  ///   - id: The id of the run: ``ProcedureHandle/id``, ``ProcedureEvent/id``, or the id in a ``QueueSnapshot``.
  /// - Returns: Whether the queue has a procedure with this id that is not executing and has not finished.
  /// - Complexity: O(n log n) for n procedures on the queue.
  @discardableResult
  public nonisolated func setPriority(_ priority: TaskPriority, of id: ProcedureID) -> Bool {
    guard let run = core.unfinishedRun(id) else { return false }
    return core.setPriority(priority.rawValue, of: run)
  }
}
