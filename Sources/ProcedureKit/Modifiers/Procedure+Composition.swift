extension Procedure {
  /// Returns the procedure with a different name for events and snapshots. Errors from modifiers that were applied earlier keep the
  /// previous name.
  public func named(_ name: String) -> ProcedureTask<Input, Output> {
    procedureTask.relabelled { $0.name = name }
  }

  /// Returns the procedure with a priority in the ready queue. Procedures with a higher priority start first.
  public func priority(_ priority: TaskPriority) -> ProcedureTask<Input, Output> {
    procedureTask.relabelled { $0.rawPriority = priority.rawValue }
  }

  /// Returns a procedure that applies a function to the value of this procedure.
  ///
  /// This procedure releases its resources before the function is called.
  ///
  /// If the function throws an error, the returned procedure fails with that error.
  public func map<Other: Sendable>(
    _ transform: @escaping @concurrent @Sendable (Output) async throws -> Other
  ) -> ProcedureTask<Input, Other> {
    let task = procedureTask
    return task.wrapped { input in try await transform(task.executeAsLayer(input)) }
  }

  /// Returns a procedure that executes this procedure and then `next`, which receives this procedure's value as its input.
  ///
  /// The returned procedure has the name and the priority of this procedure. The conditions of `next` are evaluated after this procedure's
  /// body ends.
  public func then<Next: Procedure>(_ next: Next) -> ProcedureTask<Input, Next.Output> where Next.Input == Output {
    let next = next.procedureTask
    return map { try await next.executeAsLayer($0) }
  }

  /// Returns the procedure with a function that provides a value if the procedure fails or is ignored. A cancelled procedure still throws.
  ///
  /// - Parameter replacement: A function that receives the procedure's error, and returns the value to use instead, or throws. The error is
  ///   ``ProcedureError/Kind/ignored`` if a condition was not satisfied.
  /// - Returns: The procedure with the function.
  public func recover(
    _ replacement: @escaping @concurrent @Sendable (any Error) async throws -> Output
  ) -> ProcedureTask<Input, Output> {
    recovered { error, _ in try await replacement(error) }
  }

  /// Returns a procedure that, if this one fails, uses the value that a function returns. A cancelled procedure still throws.
  func recovered(
    _ replacement: @escaping @concurrent @Sendable (any Error, Input) async throws -> Output
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { input in
      do {
        return try await task.executeAsLayer(input)
      } catch {
        let context = ProcedureContext.requireCurrent(for: task.name)
        if context.isCancelled { throw error }
        context.run.recordFailedCall(error)
        return try await replacement(error, input)
      }
    }
  }

  /// Returns a procedure whose value is `nil` if this procedure fails or is ignored. A cancelled procedure still throws.
  public func replacingErrorsWithNil() -> ProcedureTask<Input, Output?> {
    map { Optional($0) }.recover { _ in nil }
  }

  /// Returns a procedure that succeeds with the `Result` of this procedure, even after a failure. A cancelled procedure still throws.
  ///
  /// Use this modifier for sequences in which each element can fail separately. Every element then has a `Result`:
  ///
  /// ```swift
  /// let pages = try await queue.map(urls, with: Download().catchingErrors())  // [Result<Page, any Error>]
  /// ```
  ///
  /// If a condition is not satisfied, the `Result` is a failure with ``ProcedureError/Kind/ignored``.
  public func catchingErrors() -> ProcedureTask<Input, Result<Output, any Error>> {
    map { Result<Output, any Error>.success($0) }.recover { .failure($0) }
  }

  /// Returns a procedure that produces no value and succeeds even if this procedure fails or is ignored. A cancelled procedure still
  /// throws.
  public func ignoringErrors() -> ProcedureTask<Input, Void> {
    map { _ in }.recover { _ in }
  }
}
