/// Calls `body` with a queue of its own, and leaves only when everything that was added to it has finished.
///
/// ```swift
/// try await withProcedureQueue(maxConcurrentProcedures: 4) { queue in
///   for url in urls { queue.add(Download(), input: url) }
/// }
/// ```
///
/// If `body` throws, what was added is cancelled first. Cancelling the caller cancels everything on the queue, also what
/// comes later. A queue that is suspended when `body` ends is resumed, since nobody else could. After this has returned,
/// the queue admits nothing.
///
/// The body of a procedure that waits here lends its own queue its slot meanwhile.
///
/// - Parameters:
///   - name: What errors call the queue.
///   - maxConcurrentProcedures: How many bodies may execute at once; at least 1, or this traps.
///   - clock: What tells events their time, and measures pauses and timeouts.
///   - executor: Where bodies execute; `nil` for the global executor.
///   - resources: Where its procedures claim what they exclude others from.
///   - body: What adds to the queue.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws. Failures of procedures are told by their handles.
public nonisolated(nonsending) func withProcedureQueue<R>(
  _ name: String = "withProcedureQueue", maxConcurrentProcedures: Int = .max,
  clock: any Clock<Duration> = ContinuousClock(), executor: (any TaskExecutor)? = nil,
  resources: ResourceTable = .shared,
  _ body: nonisolated(nonsending) (ProcedureQueue) async throws -> R
) async rethrows -> R {
  let queue = ProcedureQueue(
    name, maxConcurrentProcedures: maxConcurrentProcedures, clock: clock, executor: executor,
    resources: resources)
  let onCancel: @Sendable () -> Void = { queue.core.cancelAll(nil, includesLater: true) }
  guard let run = ProcedureContext.current?.run.living else {
    return try await withTaskCancellationHandler(operation: { try await drain(queue, after: body) }, onCancel: onCancel)
  }
  return try await run.whileCancellable(queue, operation: { try await drain(queue, after: body) }, onCancel: onCancel)
}

/// Calls the body, and returns when everything on the queue has finished.
private nonisolated(nonsending) func drain<R>(
  _ queue: ProcedureQueue, after body: nonisolated(nonsending) (ProcedureQueue) async throws -> R
) async rethrows -> R {
  do {
    let result = try await body(queue)
    await queue.shutDown()
    return result
  } catch {
    queue.core.cancelAll(nil, includesLater: true)
    await queue.shutDown()
    throw error
  }
}
