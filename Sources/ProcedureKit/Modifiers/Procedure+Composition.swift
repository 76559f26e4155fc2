extension Procedure {
  /// The same procedure under another name.
  public func named(_ name: String) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.name = name }
  }

  /// The same procedure with this place among those that wait for a slot: higher priority first.
  public func priority(_ priority: TaskPriority) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.priority = priority }
  }

  /// The same procedure, its value passed through `transform`. What `transform` throws is the procedure's error.
  ///
  /// - Parameter transform: Executes as a part of the body.
  /// - Returns: The procedure with that value.
  public func map<Other: Sendable>(
    _ transform: @escaping @concurrent @Sendable (Output) async throws -> Other
  ) -> ProcedureTask<Input, Other> {
    let task = procedureTask.foldingTimeout()
    guard task.isPlain else {
      // What was held for the procedure is not held for what follows.
      return ProcedureTask(name: task.name, priority: task.priority) { input in
        try await transform(task.executeInCurrentContext(input))
      }
    }
    return ProcedureTask(name: task.name, priority: task.priority, admission: task.admission) { input in
      try await transform(task.operation(input))
    }
  }

  /// This procedure and then another one, which is given its value; together one procedure.
  ///
  /// It has the name and the priority of this procedure. The conditions of `next` are evaluated when this procedure's body
  /// has ended.
  public func then<Next: Procedure>(_ next: Next) -> ProcedureTask<Input, Next.Output> where Next.Input == Output {
    let next = next.procedureTask
    return map { try await next.executeInCurrentContext($0) }
  }

  /// The same procedure, but where it fails or is ignored, `replacement` says what becomes of it. A cancel is passed on.
  ///
  /// - Parameter replacement: Given what the procedure threw; ``ProcedureError/ignored(procedure:by:)`` where a
  ///   condition was not satisfied. Returns the value to use, or throws.
  /// - Returns: The procedure with that recovery.
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

  /// The same procedure, whose value is `nil` where it fails or is ignored. A cancel is passed on.
  public func optional() -> ProcedureTask<Input, Output?> {
    map { Optional($0) }.recoverAll { nil }
  }

  /// The same procedure without its value: it succeeds also where it fails or is ignored. A cancel is passed on.
  public func ignoringErrors() -> ProcedureTask<Input, Void> {
    map { _ in }.recoverAll {}
  }
}

extension ProcedureTask {
  fileprivate func recoverAll(_ replacement: @escaping @Sendable () -> Output) -> ProcedureTask<Input, Output> {
    recover { _ in replacement() }
  }
}
