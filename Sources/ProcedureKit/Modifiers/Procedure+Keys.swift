extension Procedure {
  /// Returns the procedure with a key that says whose run it is, for queues that replace the waiting runs of a key.
  public func keyed(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.key = InternedKey.of(key) }
  }

  /// Returns a procedure that executes once for all runs of the same key and output type that overlap.
  ///
  /// A run that is cancelled while it executes passes the execution on to the next one that asked.
  public func coalesced(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    .coalesced(procedureTask, by: InternedKey.of(key))
  }
}
