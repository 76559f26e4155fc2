extension Procedure {
  /// The same procedure, before whose body `hook` is called and awaited.
  ///
  /// It is called with what the procedure is given, when conditions are satisfied and resources and the slot are there. If
  /// it throws, the body is not executed and the procedure fails; it is cancelled if ``ProcedureContext/cancel(_:)`` was
  /// called. Of several hooks the last one written is called first, since it wraps the others.
  ///
  /// - Parameter hook: Never called together with the body or another hook of the same run.
  /// - Returns: The procedure with that hook.
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

  /// The same procedure, after whose body `hook` is called and awaited, while the slot and resources are still held.
  ///
  /// Of several hooks the first one written is called first. If one throws, the procedure fails.
  ///
  /// - Parameter hook: Told what the body has come to; a cancel that comes while it executes does not change that.
  /// - Returns: The procedure with that hook.
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

  /// The same procedure; if it is cancelled, `hook` is called and awaited: after the body, if that was executing.
  ///
  /// A timeout is a cancel, too. What a body executes after it has been cancelled, to clean up, is not cancelled with it where it
  /// comes to a value.
  ///
  /// - Parameter hook: Told the reason. It holds no slot and no resource of the procedure.
  /// - Returns: The procedure with that hook.
  public func onDidCancel(
    _ hook: @escaping @concurrent @Sendable ((any Error)?) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(didCancel: [hook]))
  }

  /// The same procedure; when its outcome is decided and before anybody can read it, `hook` is called and awaited.
  ///
  /// What the body has produced has ended then, unless the procedure is a part of another body, to which that belongs.
  ///
  /// It is called also where the body was not executed, because the procedure was cancelled, ignored, or failed before.
  /// If it throws, that is the procedure's failure; a cancel stays one. A node of a graph that is never reached has no end,
  /// and its hooks are not called; nor are those of a run that is refused: by a queue that has been shut down or is full, or
  /// because what was to produce it had ended.
  ///
  /// - Parameter hook: Told the outcome as it stands. It holds no slot and no resource of the procedure.
  /// - Returns: The procedure with that hook.
  public func onWillFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(willFinish: [hook]))
  }

  /// The same procedure; when its outcome can be read, `hook` is called and awaited.
  ///
  /// `run` returns after it, and the queue is not idle before; dependents and whoever awaits a handle go on at once.
  ///
  /// - Parameter hook: Told the outcome. It holds no slot and no resource of the procedure.
  /// - Returns: The procedure with that hook.
  public func onDidFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.finishing(with: FinishHooks(didFinish: [hook]))
  }
}

extension ProcedureTask {
  /// The same level with another operation around its own.
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
