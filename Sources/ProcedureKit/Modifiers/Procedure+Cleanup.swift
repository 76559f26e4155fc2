extension ProcedureContext {
  /// Shields an operation from the cancellation of the procedure and its task, whether they are cancelled before or during the operation.
  ///
  /// ```swift
  /// try await context.shielded { try await connection.close() }
  /// ```
  ///
  /// Within the shield, `Task.isCancelled` and ``isCancelled`` are `false`, sleeping works, and cancellation handlers are not called. The
  /// cancellation does not reach child tasks of the operation. Nor does it reach procedures that the operation calls, runs on a queue, or
  /// produces through ``current``, which is the operation's own context. If these procedures are on the queue of this procedure,
  /// ``ProcedureQueue/cancelAll(_:)``, a shutdown, and the end of a scope do not cancel them either. Procedures that the operation adds
  /// with `add` are not protected, and another queue can cancel procedures that the operation runs there. If the operation itself cancels a
  /// child task, a task group or a handle, the cancellation works as usual.
  ///
  /// After the shield, the cancellation can be observed again. The shield does not change the outcome of the run. These are the semantics
  /// of `withTaskCancellationShield` (SE-0504). The library calls that function if the library is compiled with Swift 6.4 or later and, on
  /// Apple platforms, the system version is 27 or later. Otherwise, a separate task executes the operation. The operation is part of the
  /// body and uses the body's slot and resources.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled, so that it cannot delay the procedure forever. The limit does not
  ///     apply to a nested shield, which has its own limit.
  ///   - operation: The operation, which never executes on the caller's actor.
  /// - Returns: The result of `operation`.
  /// - Throws: The error that `operation` throws; ``ProcedureError/Kind/timedOut``, with a name such as `shield of session`, if the
  ///   operation exceeds `limit`.
  @concurrent public func shielded<R: Sendable>(
    atMost limit: Duration = .seconds(30), _ operation: @escaping @concurrent @Sendable () async throws -> R
  ) async throws -> R {
    try await shielded("shield of \(name)", atMost: limit, operation)
  }

  /// Executes an operation in a shield. If `limit` is `nil`, the operation can take any amount of time. The shield has its own name, so
  /// that readers of an error can tell its timeout from a timeout of the procedure.
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
  /// Returns the procedure with an operation that always follows it, whether the procedure succeeds, fails or is cancelled.
  ///
  /// ```swift
  /// let copy = ProcedureTask("copy") { try await copy(to: folder) }.cleanup { try await folder.remove() }
  /// ```
  ///
  /// Cancellation does not cut the operation short; see ``ProcedureContext/shielded(atMost:_:)``. Unlike an end hook, the operation
  /// executes while the run still holds its slot and the resources of the modifiers that are applied after this one. A run that is
  /// cancelled before it starts does not clean up.
  ///
  /// A run holds neither its slot nor its resources while it pauses or waits, for example for a rate limiter. If the run is cancelled
  /// during such a pause or wait, the operation first waits for the resources, but not for a slot. If that wait exceeds `limit`, or is
  /// refused because of a deadlock, the operation is not executed, and is treated as failed.
  ///
  /// If the operation fails, the procedure fails. If the procedure has already failed or was cancelled, the operation's error is logged
  /// instead.
  ///
  /// A timeout, a deadline or the grace period of a shutdown cannot end the operation. The procedure can therefore exceed these limits by
  /// up to `limit` for each of its cleanups.
  ///
  /// - Parameters:
  ///   - limit: The time after which the operation itself is cancelled and fails with ``ProcedureError/Kind/timedOut``. The error
  ///     identifies the operation by a name such as `cleanup of copy`.
  ///   - operation: The operation, which never executes on the caller's actor.
  /// - Returns: The procedure with the operation.
  public func cleanup(
    atMost limit: Duration = .seconds(30), _ operation: @escaping @concurrent @Sendable () async throws -> Void
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let result = await Result(awaiting: { () async throws in try await task.executeAsLayer(input) })
      do {
        let run = context.run
        try await context.shielded("cleanup of \(task.name)", atMost: limit) {
          // A pause released these resources, and a cancelled run does not claim them again, but the shield can (R2).
          let shield = ProcedureContext.requireCurrent(for: task.name).run
          if let error = await shield.reclaim([run] + run.enclosingLayers) { throw error }
          try await operation()
        }
      } catch {
        // A cancelled procedure ends as cancelled, so an error thrown here would be lost.
        if case .success = result, !context.isCancelled { throw error }
        context.log.log(level: .warning, "cleanup failed: \(error)")
      }
      return try result.get()
    }
  }
}
