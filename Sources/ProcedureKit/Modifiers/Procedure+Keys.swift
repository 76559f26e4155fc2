extension Procedure {
  /// Returns the procedure with a key, which identifies the run that a full queue may replace; see ``QueueOverflow``.
  public func keyed(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    procedureTask.relabelled { $0.key = InternedKey.of(key) }
  }

  /// Returns the procedure with an execution shared by all runs with an equal key and an equal type of value.
  ///
  /// The shared runs execute once, and all have the value or the error of the execution. Keys are process-wide, unless
  /// the queue has its own ``ResourceTable``. The input is not compared: equal keys mean equal work. A waiting run
  /// holds no slot. If the executing run is cancelled, the next waiting run executes. Cancelling a waiting run does not
  /// disturb the others.
  ///
  /// - Parameter key: The identity of the work.
  /// - Returns: The procedure with a shared execution.
  public func coalesced(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    .coalesced(procedureTask, by: InternedKey.of(key))
  }
}
