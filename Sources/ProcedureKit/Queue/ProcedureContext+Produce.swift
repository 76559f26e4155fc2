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
    let parent = run
    let core = parent.core === QueueCore.unqueued ? ProcedureQueue.shared.core : parent.core
    let child = Run(core, task.level, .added, parent: parent, closures: task.closures, body: task.body(with: input))
    core.withState { _ in child.madeDetails.isProduced = true }
    let handle = ProcedureHandle<P.Output>(child)
    let adoption = parent.adopt(child, isProduced: true)
    guard adoption != .refused else {
      child.refuse(ProcedureError.producerFinished(procedure: child.identity, producer: identity))
      return handle
    }
    parent.report(.willProduce(child.identity))
    core.admit(child, after: [])
    parent.report(.didProduce(child.identity))
    if adoption == .cancelled || isCancelled { child.cancel(parent.inheritedReason) }
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
