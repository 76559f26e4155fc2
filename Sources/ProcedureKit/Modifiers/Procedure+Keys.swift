extension Procedure {
  /// Returns the procedure with a key, which names for whom the procedure runs: a tenant, a user, a document.
  ///
  /// Keys take turns on a queue with ``QueueFairness/byKey``, ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey`` and
  /// ``ProcedureQueue/Configuration/maxWaitingProceduresPerKey`` bound each key, and a full queue replaces only a procedure with an
  /// equal key; see ``QueueOverflow``. By default, a key changes nothing.
  ///
  /// Of several keys, the last one counts; the key of a part that ``then(_:)`` appends, or that a fallback is, does not: key the whole. Produced children, nested runs and nodes of graphs without a key have the key of the
  /// enclosing body; a procedure that a body adds to a queue does not. A node with a key needs a slot of this key to execute.
  /// Keys are equal as `AnyHashable` values are. `==` and `hash(into:)` are called without a lock.
  public func keyed(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    procedureTask.relabelled { $0.key = InternedKey.of(key) }
  }

  /// Returns the procedure with an execution shared by all runs with an equal key and an equal type of value. The key
  /// is the identity of the work.
  ///
  /// The shared runs execute once, and all have the value or the error of the execution. Keys are process-wide, unless
  /// the queue has its own ``ResourceTable``. The input is not compared: equal keys mean equal work. A waiting run
  /// holds no slot. If the executing run is cancelled, the next waiting run executes. Cancelling a waiting run does not
  /// disturb the others.
  public func coalesced(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    .coalesced(procedureTask, by: InternedKey.of(key))
  }
}
