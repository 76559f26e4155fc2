/// Functions that manage procedures without handles. Procedures are selected by ID, which events and snapshots contain, or by a predicate.
extension ProcedureQueue {
  /// Cancels a procedure on the queue together with its children, nested runs and nodes, as ``ProcedureHandle/cancel(_:)`` does.
  ///
  /// A node without modifiers has no run that can be cancelled on its own; cancel its graph instead.
  ///
  /// - Parameters:
  ///   - id: The ID of the run: ``ProcedureHandle/id``, ``ProcedureEvent/id``, or the ID in a ``QueueSnapshot``.
  ///   - reason: The reason for the cancellation; `nil` to use `CancellationError`.
  /// - Returns: Whether the queue has an unfinished procedure with this ID. A procedure whose outcome has already been decided keeps its
  ///   outcome.
  /// - Complexity: O(n log n) for n procedures on the queue.
  @discardableResult
  public nonisolated func cancel(_ id: ProcedureID, _ reason: (any Error)? = nil) -> Bool {
    guard let run = core.unfinishedRun(id) else { return false }
    run.cancel(reason)
    return true
  }

  /// Cancels all procedures on the queue that a predicate selects. They are cancelled together, so cancelling one does not let another
  /// start.
  ///
  /// ```swift
  /// queue.cancel { $0.key == "tenant 7" && $0.state != .executing }
  /// ```
  ///
  /// The predicate is applied to a single ``snapshot()``. If a selected procedure has since finished, it is not affected; if it has since
  /// started, it is nevertheless cancelled. The children, nested runs and nodes of a selected procedure are cancelled with it.
  ///
  /// - Parameters:
  ///   - reason: The reason for the cancellation; `nil` to use `CancellationError`.
  ///   - isSelected: A function that returns whether to cancel a procedure. It is called while no lock is held, and can use the queue.
  /// - Throws: The error that the predicate throws, in which case no procedure is cancelled.
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
  /// Among the procedures with the new priority, the procedure is ordered by the time of its admission. A higher priority also raises the
  /// priorities of the procedures that this procedure is waiting for (Q7). A lower priority applies even if a procedure with a higher
  /// priority is waiting for this one.
  ///
  /// - Parameters:
  ///   - priority: The new priority in the ready queue.
  ///   - id: The ID of the run: ``ProcedureHandle/id``, ``ProcedureEvent/id``, or the ID in a ``QueueSnapshot``.
  /// - Returns: Whether the queue has a procedure with this ID that is not executing and has not finished.
  /// - Complexity: O(n log n) for n procedures on the queue.
  @discardableResult
  public nonisolated func setPriority(_ priority: TaskPriority, of id: ProcedureID) -> Bool {
    guard let run = core.unfinishedRun(id) else { return false }
    return core.setPriority(priority.rawValue, of: run)
  }
}
