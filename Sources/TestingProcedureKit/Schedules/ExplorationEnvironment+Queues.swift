extension ExplorationEnvironment {
  /// A queue whose bodies execute on the schedule's executor, and whose time is the schedule's. The report of a deadlock
  /// tells what each procedure on it waits for.
  ///
  /// - Parameters:
  ///   - name: What errors and deadlock reports call it.
  ///   - maxConcurrentProcedures: How many bodies may execute at once; at least 1, or this traps.
  ///   - isSuspended: Whether it starts nothing until it is resumed.
  ///   - maxWaitingProcedures: How many that were added may wait to be started; at least 1, or this traps.
  ///   - overflow: What becomes of one that is added beyond that.
  ///   - contextCarriers: The task-local values that `add` takes from the caller to the body.
  ///   - resources: Where procedures claim what they exclude others from; `nil` for the schedule's own table.
  ///   - hooks: What is called for each procedure, and awaited.
  /// - Returns: The queue. It has to be shut down, or let go of, for its tasks to end.
  public func makeQueue(
    _ name: String = "queue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false,
    maxWaitingProcedures: Int = .max, overflow: QueueOverflow = .refuse, contextCarriers: [ContextCarrier] = [],
    resources: ResourceTable? = nil, hooks: ProcedureHooks? = nil
  ) -> ProcedureQueue {
    let queue = ProcedureQueue(
      name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended, clock: clock,
      executor: executor, maxWaitingProcedures: maxWaitingProcedures, overflow: overflow,
      contextCarriers: contextCarriers, resources: resources ?? self.resources, hooks: hooks, seed: UInt64(schedule))
    explainDeadlock { [weak queue] in
      queue.map { $0.snapshot() }.flatMap { $0.procedures.isEmpty ? nil : "\($0)" }
    }
    return queue
  }

  /// Lets the report of a deadlock tell where this run stands. Returns the handle, as in `env.watch(queue.add(p))`.
  @discardableResult
  public func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> {
    explainDeadlock { handle.state == .finished ? nil : "\(handle)" }
    return handle
  }

  /// Begins to record what happens on a queue, reading its events on the schedule's executor, wherever it is called.
  public func recordEvents(of queue: ProcedureQueue) -> EventRecorder {
    EventRecorder(queue, executor: executor)
  }
}
