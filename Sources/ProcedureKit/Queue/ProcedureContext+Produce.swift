extension ProcedureContext {
  /// Adds a procedure as a part of this one, which finishes after it.
  ///
  /// It is added to the queue on which this procedure is, or to ``ProcedureQueue/shared`` where it is on none, with this
  /// procedure's place in line. Cancelling this procedure cancels it. If it fails, this procedure's
  /// ``Procedure/errorPolicy(_:)`` decides: by default the body and everything else that it has produced are cancelled, and
  /// this procedure fails with that error. One that is cancelled on its own, or ignored, changes nothing. A body in the task of
  /// a caller, or of a graph, learns by ``isCancelled`` that a child has failed, since that task is not this procedure's.
  ///
  /// While the body waits for its children, also after it has ended, it holds no slot. What it excludes others from, its
  /// children may claim as well; see ``Procedure/exclusive(_:_:)``.
  ///
  /// - Parameters:
  ///   - procedure: What to run.
  ///   - input: What it is given.
  /// - Returns: The run, which fails with ``ProcedureError/producerFinished(procedure:producer:)`` if this one has ended
  ///   already.
  /// - Complexity: O(1).
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P, input: P.Input) -> ProcedureHandle<P.Output> {
    let task = procedure.procedureTask
    let core = slotHolder?.core ?? ProcedureQueue.shared.core
    let run = DetachedRun(task.work, core: core, wanting: core.demands(of: task.work), parent: self) { run in
      try await run.callBody(of: P.Output.self, with: input)
    }
    let handle = ProcedureHandle<P.Output>(run)
    guard scope.mayProduce, let children = scope.makeChildren() else {
      core.refuse(run, ProcedureError.producerFinished(procedure: run.identity, producer: identity))
      return handle
    }
    scope.report(.willProduce(run.identity))
    guard children.admit(run) else {
      core.refuse(run, ProcedureError.producerFinished(procedure: run.identity, producer: identity))
      return handle
    }
    scope.childAdmitted()
    core.admit(run, dependencies: [])
    scope.report(.didProduce(run.identity))
    children.attached(run)
    // A cancel that came before the first child was there has not reached the group.
    if isCancelled { run.cancel(cancellationReason) }
    let identity = run.identity
    run.whenFinished { children.finished(identity, $0) }
    return handle
  }

  /// Adds a procedure that is given nothing as a part of this one; see ``produce(_:input:)``.
  ///
  /// - Parameter procedure: What to run.
  /// - Returns: The run.
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P) -> ProcedureHandle<P.Output> where P.Input == Void {
    produce(procedure, input: ())
  }
}
