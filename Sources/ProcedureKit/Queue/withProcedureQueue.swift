/// Calls `body` with a new queue, and returns when every procedure on the queue has finished.
///
/// ```swift
/// try await withProcedureQueue(maxConcurrentProcedures: 4) { queue in
///   for url in urls { queue.add(Download(), input: url) }
/// }
/// ```
///
/// If `body` throws, all procedures on the queue are cancelled before the wait. Cancelling the caller cancels all procedures
/// on the queue, including later procedures. A queue that is suspended when `body` ends is resumed. After the return, the
/// queue admits no procedure.
///
/// The body of a procedure that waits for the function lends its slot meanwhile.
///
/// - Parameters:
///   - name: The name of the queue in errors.
///   - maxConcurrentProcedures: How many bodies may execute at once; at least 1, otherwise the call traps.
///   - clock: The clock of events, pauses and timeouts.
///   - executor: The executor of bodies; `nil` for the global executor.
///   - resources: The table in which procedures claim resources.
///   - body: The function that adds procedures to the queue.
/// - Returns: The value of `body`.
/// - Throws: The error of `body`. A failed procedure throws only where its handle's `value` is read.
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

/// Calls the body, and returns when all procedures on the queue have finished.
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
