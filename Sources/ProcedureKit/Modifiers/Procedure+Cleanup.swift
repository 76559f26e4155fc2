extension ProcedureContext {
  /// Executes an operation that does not observe the cancellation of the procedure or of its task, whether it happens earlier or later.
  ///
  /// ```swift
  /// try await context.shielded { try await connection.close() }
  /// ```
  ///
  /// Within the shield, `Task.isCancelled` and ``isCancelled`` are `false`, sleeping works, and cancellation handlers are not called. The
  /// cancellation does not reach child tasks, procedures that the operation calls, procedures that it runs on a queue, or procedures that
  /// it produces with the context of the operation, ``current``. ``ProcedureQueue/cancelAll(_:)``, a shutdown, or the end of a scope does
  /// not cancel them either, if they are on the queue of this procedure. Procedures that the operation adds with `add` are not protected,
  /// and another queue can cancel those that the operation runs there. If the operation itself cancels a child task, a task group or a
  /// handle, this works as usual.
  ///
  /// After the shield, the cancellation can be observed again, and the outcome of the run is the same. These are the semantics of
  /// `withTaskCancellationShield` (SE-0504). The library uses that function if it was compiled with Swift 6.4 or later, on Apple's systems
  /// from version 27 on; otherwise, a separate task executes the operation. The operation is part of the body, and uses the body's slot and
  /// resources.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled, so that it cannot delay the end of the procedure forever. It
  ///     does not apply to a shield within this one, which has a limit of its own.
  ///   - operation: The operation, which never executes on the caller's actor.
  /// - Returns: The result of `operation`.
  /// - Throws: The error of `operation`; after `limit`, ``ProcedureError/Kind/timedOut`` with a name such as `shield of session`.
  @concurrent public func shielded<R: Sendable>(
    atMost limit: Duration = .seconds(30), _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    try await shielded("shield of \(name)", atMost: limit, operation)
  }

  /// Executes an operation in a shield, without a limit if `limit` is `nil`. The shield has a name of its own, so that its timeout is not
  /// mistaken for a timeout of the procedure.
  @concurrent package func shielded<R: Sendable>(
    _ label: String, atMost limit: Duration?, _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    let unlimited = ProcedureTask(label, operation: operation)
    let task = limit.map { unlimited.timeout($0) } ?? unlimited
    return try await Self.bound.withValue(.init(self)) {
      try await RunDriver.runShielded(task, (), executor: run.core.executor)
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
  /// A timeout, a deadline or the grace period of a shutdown cannot end the operation, so the procedure can take longer, by up to `limit`
  /// for each of its cleanups.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled, and fails with ``ProcedureError/Kind/timedOut`` and a name such as
  ///     `cleanup of copy`.
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
        try await context.shielded("cleanup of \(task.name)", atMost: limit, operation)
      } catch {
        // A cancelled procedure ends as cancelled, so an error that is thrown here would be lost.
        if case .success = result, !context.isCancelled { throw error }
        context.log.log(level: .warning, "has not cleaned up: \(error)")
      }
      return try result.get()
    }
  }
}
