extension Procedure {
  /// Returns the procedure under another name.
  public func named(_ name: String) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.name = name }
  }

  /// Returns the procedure with a priority in the ready queue. Higher priorities start first.
  public func priority(_ priority: TaskPriority) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.priority = priority }
  }

  /// Returns the procedure with its value transformed.
  ///
  /// - Parameter transform: Converts the value, as a part of the body. An error of `transform` fails the procedure.
  /// - Returns: The procedure with the transformed value.
  public func map<Other: Sendable>(
    _ transform: @escaping @concurrent @Sendable (Output) async throws -> Other
  ) -> ProcedureTask<Input, Other> {
    let task = procedureTask.foldingTimeout()
    guard task.isPlain else {
      // The resources of the procedure are not held during the transformation.
      return ProcedureTask(name: task.name, priority: task.priority) { input in
        try await transform(task.executeInCurrentContext(input))
      }
    }
    return ProcedureTask(name: task.name, priority: task.priority, admission: task.admission) { input in
      try await transform(task.operation(input))
    }
  }

  /// Returns a procedure that executes this procedure and then `next`, with this procedure's value as the input.
  ///
  /// The result has the name and the priority of this procedure. The conditions of `next` are evaluated after this
  /// procedure's body has ended.
  public func then<Next: Procedure>(_ next: Next) -> ProcedureTask<Input, Next.Output> where Next.Input == Output {
    let next = next.procedureTask
    return map { try await next.executeInCurrentContext($0) }
  }

  /// Returns the procedure with a recovery from failing and from being ignored. A cancel is not recovered.
  ///
  /// - Parameter replacement: Returns the value to use, or throws. The argument is the procedure's error;
  ///   ``ProcedureError/ignored(procedure:by:)`` for a condition that was not satisfied.
  /// - Returns: The procedure with the recovery.
  public func recover(
    _ replacement: @escaping @concurrent @Sendable (any Error) async throws -> Output
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return ProcedureTask(name: task.name, priority: task.priority) { input in
      do {
        return try await task.executeInCurrentContext(input)
      } catch {
        let context = ProcedureContext.ofBody(task.name)
        if context.isCancelled { throw error }
        try await context.takeUpAgain()
        return try await replacement(error)
      }
    }
  }

  /// Returns the procedure with the value `nil` for failing and for being ignored. A cancel is passed on.
  public func optional() -> ProcedureTask<Input, Output?> {
    map { Optional($0) }.recoverAll { nil }
  }

  /// Returns the procedure without a value, which also succeeds after failing or being ignored. A cancel is passed on.
  public func ignoringErrors() -> ProcedureTask<Input, Void> {
    map { _ in }.recoverAll {}
  }
}

extension ProcedureTask {
  fileprivate func recoverAll(_ replacement: @escaping @Sendable () -> Output) -> ProcedureTask<Input, Output> {
    recover { _ in replacement() }
  }
}
