extension ProcedureQueue {
  /// Runs a procedure for each element of a collection, in the caller's task and in workers of the queue.
  ///
  /// Cancelling the caller cancels all elements.
  ///
  /// - Parameters:
  ///   - elements: The inputs.
  ///   - procedure: The procedure for each element. Elements execute concurrently, within `limit` and the width of the
  ///     queue.
  ///   - limit: The largest number of concurrent elements. A value below 1 traps.
  ///   - policy: The response to the failure of an element.
  /// - Returns: The values, in the order of the elements.
  /// - Throws: The errors of ``run(_:input:)``; ``ProcedureError/Kind/partsFailed`` with the policy
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
