extension Procedure {
  /// Returns the procedure with a hook before the body, which is awaited.
  ///
  /// The hook is called with the input, when the conditions are satisfied and the run holds its resources and a slot.
  /// If the hook throws, the procedure fails without executing the body. If the hook calls
  /// ``ProcedureContext/cancel(_:)``, the procedure is cancelled without executing the body. Of several hooks, the last
  /// one written is called first, since modifiers wrap.
  ///
  /// - Parameter hook: The function to call. A hook never runs concurrently with the body or another hook of the run.
  /// - Returns: The procedure with the hook.
  public func onWillExecute(
    _ hook: @escaping @concurrent @Sendable (Input) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.wrappingOperation { operation, input in
      let context = ProcedureContext.current
      let wasCancelled = context?.isCancelled ?? false
      try await hook(input)
      if !wasCancelled { try context?.requireNotCancelled() }
      return try await operation(input)
    }
  }

  /// Returns the procedure with a hook after the body, which is awaited while the run still holds its slot and
  /// resources.
  ///
  /// Of several hooks, the first one written is called first. If a hook throws, the procedure fails.
  ///
  /// - Parameter hook: The function to call, with the outcome of the body. A cancel during the hook does not change the
  ///   argument.
  /// - Returns: The procedure with the hook.
  public func onDidExecute(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.wrappingOperation { operation, input in
      let context = ProcedureContext.current
      let wasCancelled = context?.wasCancelled ?? false
      let result: Result<Output, any Error>
      do {
        result = .success(try await operation(input))
      } catch {
        result = .failure(error)
      }
      let cancel = context?.cancel(of: result, after: wasCancelled)
      try await hook(cancel.map { .cancelled(reason: $0.reason) } ?? ProcedureOutcome(result))
      return try result.get()
    }
  }

  /// Returns the procedure with a hook for cancellation, which is awaited. If the body was executing, the hook is
  /// called after the body has ended.
  ///
  /// A timeout or a deadline around the hook cancels the procedure, too, with
  /// ``ProcedureError/timedOut(procedure:duration:hasStarted:)`` as the reason. The hook is not called for a procedure
  /// that a cancelled body runs to clean up and that returns a value.
  ///
  /// - Parameter hook: The function to call, with the reason of the cancel. The run holds no slot and no resource
  ///   meanwhile.
  /// - Returns: The procedure with the hook.
  public func onDidCancel(
    _ hook: @escaping @concurrent @Sendable ((any Error)?) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(didCancel: [hook]))
  }

  /// Returns the procedure with a hook between the decision on the outcome and its publication, which is awaited.
  ///
  /// The children of the run have ended by then. The children of a procedure that the body of another one executes belong to
  /// that body, and may end later.
  ///
  /// The hook is also called if the body was not executed because the procedure was cancelled, ignored or failed. If
  /// the hook throws, the procedure fails; a cancelled procedure stays cancelled. The hook is not called for a node
  /// that a graph never reaches, nor for a run that is refused: by a queue that is shut down or full, or because its
  /// producer has ended.
  ///
  /// - Parameter hook: The function to call, with the outcome so far. The run holds no slot and no resource meanwhile.
  /// - Returns: The procedure with the hook.
  public func onWillFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(willFinish: [hook]))
  }

  /// Returns the procedure with a hook after the publication of the outcome, which is awaited.
  ///
  /// `run` returns after the hook, and the queue is not idle before. Dependents, and tasks that await a handle, go on
  /// without waiting for the hook.
  ///
  /// - Parameter hook: The function to call, with the outcome. The run holds no slot and no resource meanwhile.
  /// - Returns: The procedure with the hook.
  public func onDidFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(didFinish: [hook]))
  }
}

extension ProcedureTask {
  /// Returns the level with `wrapper` around the operation.
  func wrappingOperation(
    _ wrapper:
      @escaping @concurrent @Sendable (
        _ operation: @concurrent @Sendable (Input) async throws -> Output, _ input: Input
      ) async throws -> Output
  ) -> ProcedureTask {
    let task = foldingTimeout()
    let operation = task.operation
    return task.changing { $0.operation = { try await wrapper(operation, $0) } }
  }

  fileprivate func finishing(with hooks: FinishHooks<Output>) -> ProcedureTask {
    changing { $0.hooks = $0.hooks.map { $0 + hooks } ?? hooks }
  }
}
