/// Calls `body` with a new queue and returns when every procedure on the queue has finished.
///
/// The function is a scope for procedures, as `withThrowingDiscardingTaskGroup` is for tasks.
///
/// ```swift
/// try await withProcedureQueue(maxConcurrentProcedures: 4) { queue in
///   for url in urls { queue.add(Download(), input: url) }
/// }
/// ```
///
/// At most `maxConcurrentProcedures` bodies execute at a time; passing a value below 1 traps. For failures, cancellation and errors, see
/// ``withProcedureQueue(_:onFailure:_:)``.
@discardableResult
public nonisolated(nonsending) func withProcedureQueue<R>(
  _ name: String = "withProcedureQueue", maxConcurrentProcedures: Int = .max,
  onFailure policy: FailurePolicy = .failFast,
  _ body: nonisolated(nonsending) (ProcedureQueue) async throws -> R
) async throws -> R {
  let configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: maxConcurrentProcedures)
  return try await withProcedureQueue(configuration, onFailure: policy, body)
}

/// Calls `body` with a new queue and returns when every procedure on the queue has finished.
///
/// No failure of an added procedure is lost, even if `body` releases the handle or catches the error. With the policy
/// ``FailurePolicy/failFast``, the first failure cancels all other procedures on the queue, including those that are added later. The
/// failure is thrown once these procedures have ended. With ``FailurePolicy/collect``, all procedures run, and the failures are thrown
/// together. A procedure does not count as failed if it was ignored or cancelled, or if it failed only because another procedure on the
/// queue failed. The failure of a procedure that is executed by `run` does not count either, because `run` throws the error to its caller.
///
/// If `body` throws, all procedures on the queue are cancelled before the function waits for them. Cancelling the caller cancels all
/// procedures on the queue, including those that are added later. A queue that is suspended when `body` ends is resumed. After the function
/// returns, the queue admits no further procedures.
///
/// If this function is called in the body of a procedure, the body releases its slot while the function waits.
///
/// - Parameters:
///   - configuration: The settings of the queue. `onUnobservedFailure` is called only for procedures that are refused because they were
///     added after `withProcedureQueue` returned.
///   - policy: The policy that determines how the scope responds to the failure of an added procedure.
///   - body: The function that adds procedures to the queue. The failure of a procedure does not cancel the task that executes `body`.
/// - Returns: The value of `body`.
/// - Throws: With `failFast`, the first error, whether from an added procedure or from `body`. A failure takes precedence over a
///   `CancellationError` from `body`. With `collect`, ``ProcedureError/Kind/childrenFailed`` with all failures, followed by the error from
///   `body`, if any. If no procedure has failed, only the error from `body`.
@discardableResult
public nonisolated(nonsending) func withProcedureQueue<R>(
  _ configuration: ProcedureQueue.Configuration, onFailure policy: FailurePolicy = .failFast,
  _ body: nonisolated(nonsending) (ProcedureQueue) async throws -> R
) async throws -> R {
  let queue = ProcedureQueue(core: configuration.makeCore(scope: policy))
  return try await ProcedureContext.withCancellationHandler {
    try await drained(queue, policy, after: body)
  } onCancel: {
    queue.core.cancelAll(nil, includesLater: true)
  }
}

/// Calls the body, and shuts the queue down, which waits until all of its procedures have ended. Throws the error of the scope, if any.
private nonisolated(nonsending) func drained<R>(
  _ queue: ProcedureQueue, _ policy: FailurePolicy,
  after body: nonisolated(nonsending) (ProcedureQueue) async throws -> R
) async throws -> R {
  let value: R
  do {
    value = try await body(queue)
  } catch {
    // An earlier failure takes precedence, because the error of the body may be a consequence of it.
    let earlier = queue.core.failures
    queue.core.cancelAll(nil, includesLater: true)
    await queue.shutDown()
    let (counts, all) = (policy == .collect || error is CancellationError, queue.core.endScope())
    throw scopeError(counts ? all : earlier, policy, of: queue, bodyError: error) ?? error
  }
  await queue.shutDown()
  if let error = scopeError(queue.core.endScope(), policy, of: queue, bodyError: nil) { throw error }
  return value
}

private func scopeError(
  _ failures: [ProcedureFailure], _ policy: FailurePolicy, of queue: ProcedureQueue, bodyError: (any Error)?
) -> (any Error)? {
  guard let first = failures.first else { return nil }
  if policy == .failFast { return first.error }
  let scope = ProcedureIdentity(id: .ofNoRun, name: queue.name)
  var all = failures
  if let bodyError, !(bodyError is CancellationError) {
    all.append(ProcedureFailure(procedure: scope, error: bodyError))
  }
  return ProcedureError.childrenFailed(procedure: scope, failures: all)
}
