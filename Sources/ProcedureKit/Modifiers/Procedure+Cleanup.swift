extension ProcedureContext {
  /// Executes an operation that does not observe the cancellation of the procedure or of its task, whether it happens earlier or later.
  ///
  /// ```swift
  /// try await context.shielded { try await connection.close() }
  /// ```
  ///
  /// Within the shield, `Task.isCancelled` and ``isCancelled`` are `false`, sleeping works, cancellation handlers are not called, and child
  /// tasks and procedures that the operation calls, runs or produces are not cancelled. After it, the cancellation can be observed again,
  /// and the outcome of the run is the same. These are the semantics of `withTaskCancellationShield` (SE-0504), which the function uses if
  /// it was compiled with Swift 6.4 or later; before that, a separate task executes the operation. The operation is part of the body, and
  /// uses the body's slot and resources.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled, so that it cannot delay the end of the procedure forever.
  ///   - operation: The operation, which never executes on the caller's actor.
  /// - Returns: The result of `operation`.
  /// - Throws: The error of `operation`; ``ProcedureError/Kind/timedOut`` after `limit`.
  @concurrent public func shielded<R: Sendable>(
    atMost limit: Duration = .seconds(30), _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    let task = ProcedureTask(name, operation: operation).timeout(limit)
    return try await Spawner.runShielded(executor: run.core.executor) {
      try await Self.bound.withValue(.init(self)) { try await RunDriver.run(task, (), opensShield: true) }
    }
  }
}

extension Procedure {
  /// Returns the procedure with an operation that is executed afterwards in any case: after a success, a failure, and a cancellation.
  ///
  /// ```swift
  /// let copy = ProcedureTask("copy") { try await copy(to: folder) }.cleanup { try await folder.remove() }
  /// ```
  ///
  /// The operation cannot be cut short by a cancellation; see ``ProcedureContext/shielded(atMost:_:)``. Unlike an end hook, it is executed
  /// while the run still holds its slot and the resources of the modifiers that are applied after this one, and only if the run has got
  /// this far: a run that is cancelled before it starts does not clean up.
  ///
  /// If the operation fails, so does the procedure, unless it has already failed or was cancelled, in which case the error of the operation
  /// is logged.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled.
  ///   - operation: The operation, which never executes on the caller's actor.
  /// - Returns: The procedure with the operation.
  public func cleanup(
    atMost limit: Duration = .seconds(30), _ operation: @escaping @concurrent @Sendable () async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let result: Result<Output, any Error>
      do {
        result = .success(try await task.executeAsLayer(input))
      } catch {
        result = .failure(error)
      }
      do {
        try await context.shielded(atMost: limit, operation)
      } catch {
        guard case .failure = result else { throw error }
        context.log.log(level: .warning, "has not cleaned up: \(error)")
      }
      return try result.get()
    }
  }
}
