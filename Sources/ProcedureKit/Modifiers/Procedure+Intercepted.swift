extension Procedure {
  /// Returns the procedure with a function around it, which can bind task-local values, measure, or replace the result.
  ///
  /// ```swift
  /// let traced = Download().intercepted { context, next in
  ///   try await Tracing.$span.withValue(Span(context.name)) { try await next() }
  /// }
  /// ```
  ///
  /// The function is called with slot and resources, and is around everything that is written before: around all attempts of
  /// a `retry` before it, around each attempt if the `retry` is behind it. Of several interceptors, the last one written is
  /// the outermost. For all procedures of a queue, see ``ProcedureQueue/Configuration/interceptor``.
  ///
  /// - Parameter interceptor: The function. `next` executes the procedure, and throws its error. An interceptor that does not
  ///   call `next` replaces the procedure. Await `next` within the function, and one call at a time: while the procedure pauses, the
  ///   resources around the interceptor are released. Cancelling works as in a body.
  /// - Returns: The procedure with the interceptor.
  public func intercepted(
    _ interceptor:
      @escaping @concurrent @Sendable (
        _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Output
      ) async throws -> Output
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { input in
      try await interceptor(ProcedureContext.ofBody(task.name)) { try await task.executeAsLevel(input) }
    }
  }
}
