extension Procedure {
  /// Returns the procedure with a hook that is awaited before the body executes. A hook that throws fails the run.
  public func onWillExecute(
    _ hook: @escaping @concurrent @Sendable (Input) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.willExecute.append { try await hook($0 as! Input) } }
  }

  /// Returns the procedure with a hook that is awaited when the body has executed. A hook that throws fails the run.
  public func onDidExecute(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    aroundTimeout.changing { $0.hooks.didExecute.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is awaited at the end of a run that was cancelled.
  public func onDidCancel(
    _ hook: @escaping @concurrent @Sendable ((any Error)?) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didCancel.append { await hook($0) } }
  }

  /// Returns the procedure with a hook that is awaited before the outcome is published. A hook that throws fails the run.
  public func onWillFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.willFinish.append { try await hook($0.map { $0 as! Output }) } }
  }

  /// Returns the procedure with a hook that is awaited after the outcome was published.
  public func onDidFinish(
    _ hook: @escaping @concurrent @Sendable (ProcedureOutcome<Output>) async -> Void
  ) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.hooks.didFinish.append { await hook($0.map { $0 as! Output }) } }
  }

  /// The task, with a level around a timeout, which does not count the hooks that are written after it.
  private var aroundTimeout: ProcedureTask<Input, Output> {
    let task = procedureTask
    guard task.level.traits.timeout != nil else { return task }
    return task.wrapped { try await task.executeAsLevel($0) }
  }
}
