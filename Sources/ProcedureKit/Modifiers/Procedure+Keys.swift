extension Procedure {
  /// The same procedure under a key, by which a full queue knows what it may replace; see ``QueueOverflow``.
  public func keyed(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    procedureTask.changing { $0.admission.key = InternedKey.of(key) }
  }

  /// The same procedure, which is not executed while another one with this key and a value of the same type is: it waits
  /// for that one's value, or error, and has the same.
  ///
  /// Keys are known to the whole process, unless a queue has a ``ResourceTable`` of its own. What it is given is not looked
  /// at: the key says that it is the same work. Whoever waits holds no slot meanwhile. If the one that executes is
  /// cancelled, the next that waits executes instead; one that waits and is cancelled disturbs nobody.
  ///
  /// - Parameter key: Says which work it is.
  /// - Returns: The procedure that shares its execution.
  public func coalesced(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    let key = InternedKey.of(key)
    return ProcedureTask(name: task.name, priority: task.priority) { input in
      try await ProcedureContext.ofBody(task.name).sharing(key, name: task.name) {
        try await task.executeInCurrentContext(input)
      }
    }
  }
}
