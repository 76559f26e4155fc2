extension ProcedureContext {
  /// Adds a procedure as a child of the executing procedure. The parent finishes after the child.
  ///
  /// The child is added to the queue of the parent, with the parent's place in line. The child of a parent without a queue
  /// is added to ``ProcedureQueue/shared``. Cancelling the parent cancels the child.
  ///
  /// If the child fails, the parent's ``Procedure/errorPolicy(_:)`` decides. By default, the body and all other children
  /// are cancelled, and the parent fails with the error of the child. A child that is ignored, or cancelled alone, does not
  /// affect the parent. A body in the task of a caller, or of a graph, learns by ``isCancelled`` that a child has failed,
  /// since the parent does not own the task.
  ///
  /// A body that waits for its children holds no slot, nor does a parent whose body has ended. The children can claim the
  /// resources of the parent; see ``Procedure/exclusive(_:_:)``.
  ///
  /// - Parameters:
  ///   - procedure: The procedure to run.
  ///   - input: The input of the procedure.
  /// - Returns: The child, which fails with ``ProcedureError/Kind/producerFinished`` if the parent has
  ///   already ended.
  /// - Complexity: O(1).
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P, input: P.Input) -> ProcedureHandle<P.Output> {
    let core = run.core === QueueCore.unqueued ? ProcedureQueue.shared.core : run.core
    return add(procedure.procedureTask, input, to: core)
  }

  /// Adds a child of the executing procedure to a queue. The failure of an element of a sequence counts only for the reader of the sequence,
  /// and the parent does not report the element.
  func add<Input, Output>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, to core: QueueCore, isElement: Bool = false
  ) -> ProcedureHandle<Output> {
    let task = task.resolved(for: input)
    let parent = run
    let child = Run(core, task.level, .added, parent: parent, closures: task.closures, body: task.body(with: input))
    core.withState { _ in child.madeDetails.production = isElement ? .element : .child }
    let handle = ProcedureHandle<Output>(child)
    let adoption = parent.adopt(child, isProduced: true)
    guard adoption != .refused else {
      // Nobody else is told of the failure.
      child.leaveParent()
      child.refuse(ProcedureError.producerFinished(procedure: child.identity, producer: identity))
      return handle
    }
    if !isElement { parent.report(.willProduce(child.identity)) }
    if let error = core.admit(child, after: []) { child.refuse(error) }
    if !isElement { parent.report(.didProduce(child.identity)) }
    if adoption == .cancelled || isCancelled { child.cancel(parent.inheritedReason) }
    return handle
  }

  /// Adds a procedure without an input as a child; see ``produce(_:input:)``.
  @discardableResult
  public func produce<P: Procedure>(_ procedure: P) -> ProcedureHandle<P.Output> where P.Input == Void {
    produce(procedure, input: ())
  }
}
