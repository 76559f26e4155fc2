extension Procedure {
  /// Returns the procedure with a hook that is called and awaited before the body.
  ///
  /// The hook is called with the input, when the conditions are satisfied and the run holds its resources and a slot. If the hook throws,
  /// the procedure fails without executing the body. If the hook calls ``ProcedureContext/cancel(_:)``, the procedure is cancelled without
  /// executing the body. Of several hooks, the last one written is called first, since each modifier wraps the ones before it. A hook never
  /// runs concurrently with the body or another hook of the run.
  public func onWillExecute(
    _ hook: @escaping @concurrent @Sendable (Input) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.willExecute.append { try await hook($0 as! Input) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the body, while the run still holds its slot and resources.
  ///
  /// The hook is called with the outcome of the body; cancellation during the hook does not change this outcome. Of several hooks, the
  /// first one written is called first. If a hook throws, the procedure fails.
  public func onDidExecute(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.didExecute.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is called and awaited when the procedure is cancelled.
  ///
  /// If the body was executing, the hook is called after the body has ended.
  ///
  /// The hook is called with the reason for the cancellation. The run holds no slot and no resource at that time. A timeout or a
  /// deadline in the same layer as the hook is a failure, and does not call `onDidCancel`.
  public func onDidCancel(
    _ hook: @escaping @concurrent @Sendable ((any Error)?) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didCancel.append { await hook($0) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the outcome is decided, and before it is published.
  ///
  /// The hook is called with the outcome so far, once the children of the run have ended. The run holds no slot and no resource at that
  /// time. If the hook throws, the procedure fails; a cancelled procedure stays cancelled.
  ///
  /// The hook is also called if the body was not executed because the procedure was cancelled, ignored or failed. The
  /// hook is not called for a node that a graph never reaches, nor for a run that is refused because the queue is shut
  /// down or full, or because its producer has ended.
  public func onWillFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.willFinish.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the outcome has been published.
  ///
  /// The hook is called with the outcome. The run holds no slot and no resource at that time. `run` does not return before the hook has
  /// ended, nor is the queue idle until then. Dependents, and tasks that await a handle, continue without waiting for the hook.
  public func onDidFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didFinish.append { await hook($0.map { $0 as! Output }) } }
  }

  /// The task, with a separate layer around its timeout, if any: the timeout does not include hooks that are written after it.
  private var aroundTimeout: ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.layer.traits.timeout == nil ? task : task.inLayer()
  }
}

extension ProcedureTask {
  /// Opens a layer around the task, with the traits that `change` sets.
  func inLayer(_ change: (inout ModifierLayer.Traits) -> Void = { _ in }) -> ProcedureTask {
    wrapped(change) { try await executeAsLayer($0) }
  }
}

extension Procedure {
  /// Returns the procedure wrapped in a function, which can bind task-local values, take measurements, or replace the result.
  ///
  /// ```swift
  /// let traced = Download().intercepted { context, next in
  ///   try await Tracing.$span.withValue(Span(context.name)) { try await next() }
  /// }
  /// ```
  ///
  /// The function is called while the run has its slot and resources, and encloses everything written before it: all attempts of a `retry`
  /// before it, or each attempt of a `retry` after it. Of several interceptors, the last one written is the outermost. For all procedures
  /// on a queue, see ``ProcedureQueue/Configuration/interceptor``.
  ///
  /// - Parameter interceptor: The function. `next` executes the procedure, and throws its error. An interceptor that does not call `next`
  ///   replaces the procedure. Await `next` within the function, one call at a time: while the procedure pauses, the resources of the
  ///   layers around the interceptor are released. Cancellation works as in a body.
  /// - Returns: The procedure with the interceptor.
  public func intercepted(
    _ interceptor:
      @escaping @concurrent @Sendable (
        _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Output
      ) async throws -> Output
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { input in
      try await interceptor(ProcedureContext.requireCurrent(for: task.name)) { try await task.executeAsLayer(input) }
    }
  }
}
