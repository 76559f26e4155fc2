extension ProcedureQueue {
  /// Runs a procedure for each element of a collection, in the caller's task and workers of the queue.
  ///
  /// Cancelling the caller cancels all of it.
  ///
  /// - Parameters:
  ///   - elements: What the procedure is given, one after the other.
  ///   - procedure: What to execute; all at once, within this limit and the queue's own.
  ///   - limit: How many at once; at least 1, or this traps.
  ///   - policy: What becomes of the whole when one fails.
  /// - Returns: The results, in the order of the elements.
  /// - Throws: What ``run(_:input:)`` throws; ``ProcedureError/partsFailed(procedure:failures:)`` for the policy
  ///   ``ElementFailurePolicy/collect``.
  /// - Complexity: O(n) for n elements.
  public nonisolated(nonsending) func map<P: Procedure>(
    _ elements: some Sequence<P.Input> & Sendable, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast
  ) async throws -> [P.Output] {
    try await run(
      ElementWork(procedure.procedureTask, limit: limit, policy: policy).task, input: Array(elements))
  }
}
