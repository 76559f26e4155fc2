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
  ///   - elementName: Returns the name of an element in errors, events and diagrams. `nil` uses the name of the procedure with the index of the
  ///     element: `resize[3]`.
  /// - Returns: The values, in the order of the elements.
  /// - Throws: The errors of ``run(_:input:)``; ``ProcedureError/Kind/partsFailed`` with the policy
  ///   ``ElementFailurePolicy/collect``.
  /// - Complexity: O(n) for n elements.
  public nonisolated(nonsending) func map<P: Procedure>(
    _ elements: some Sequence<P.Input> & Sendable, with procedure: P, limit: Int = .max,
    onFailure policy: ElementFailurePolicy = .failFast, elementName: (@Sendable (P.Input) -> String)? = nil
  ) async throws -> [P.Output] {
    try await run(
      ElementWork(procedure.procedureTask, limit: limit, policy: policy, elementName: elementName).task,
      input: Array(elements))
  }
}
