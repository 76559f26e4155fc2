extension Procedure {
  /// Returns the procedure with a hook that is called and awaited before the body starts.
  ///
  /// The hook receives the input. It is called when the conditions are satisfied and the run holds its resources and a slot. If the hook
  /// throws, the procedure fails without executing the body. If the hook calls ``ProcedureContext/cancel(_:)``, the procedure is cancelled
  /// without executing the body. If there are several hooks, the hook that was applied last is called first, because each modifier wraps
  /// the earlier modifiers. A hook never runs concurrently with the body or another hook of the run.
  public func onWillExecute(
    _ hook: @escaping @concurrent @Sendable (Input) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.willExecute.append { try await hook($0 as! Input) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the body ends, while the run still holds its slot and resources.
  ///
  /// The hook receives the outcome of the body. Cancellation during the hook does not change this outcome. If there are several hooks, they
  /// are called in the order in which they were applied. If a hook throws, the procedure fails.
  public func onDidExecute(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.didExecute.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is called and awaited when the procedure is cancelled.
  ///
  /// If the body was executing, the hook is called after the body ends.
  ///
  /// The hook receives the reason for the cancellation. The run holds no slot and no resources while the hook executes. A timeout or a
  /// deadline in the same layer as the hook counts as a failure, as does a deadlock that ends the layer, so the hook is not called. To
  /// clean up in these cases as well, use ``onDidFinish(_:)``.
  public func onDidCancel(
    _ hook: @escaping @concurrent @Sendable ((any Error)?) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didCancel.append { await hook($0) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the outcome is decided, but before it is published.
  ///
  /// The hook receives the decided outcome, or a failure if an earlier hook threw an error. It is called after the children of the run end,
  /// when the run holds no slot and no resources. If the hook throws, the procedure fails, unless the procedure was cancelled.
  ///
  /// The hook is also called if the body was not executed because the procedure failed, was cancelled, or was ignored. The hook is not
  /// called for a node that a graph never reaches. Nor is it called if the run is refused because the queue is shut down or full, or
  /// because the parent of the run has already ended.
  public func onWillFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.willFinish.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is called and awaited after the outcome is published.
  ///
  /// The hook receives the outcome. The run holds no slot and no resources while the hook executes. Until the hook ends, `run` does not
  /// return, and the queue does not become idle. Dependents, and tasks that await a handle, continue without waiting for the hook.
  public func onDidFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didFinish.append { await hook($0.map { $0 as! Output }) } }
  }

  /// The task, wrapped in an additional layer if it has a timeout, so that the timeout does not cover hooks that are applied later.
  private var aroundTimeout: ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.layer.traits.timeout == nil ? task : task.inLayer()
  }
}

extension ProcedureTask {
  /// Returns the task inside a new layer, which has the traits that `change` sets.
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
  /// The function is called while the run holds its slot and resources, and encloses everything that was applied before the interceptor.
  /// One call therefore encloses all attempts of a `retry` that was applied before the interceptor. A `retry` that is applied afterwards
  /// calls the function for each attempt. If there are several interceptors, the last one applied is the outermost. To intercept all
  /// procedures on a queue, see ``ProcedureQueue/Configuration/interceptor``.
  ///
  /// - Parameter interceptor: The function that wraps the procedure. `next` executes the procedure and throws the procedure's error. An
  ///   interceptor that does not call `next` replaces the procedure. Await each call to `next` within the function, and make only one call
  ///   at a time. This is necessary because a pause of the procedure releases the resources of the layers around the interceptor.
  ///   Cancellation works as it does in a body.
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
