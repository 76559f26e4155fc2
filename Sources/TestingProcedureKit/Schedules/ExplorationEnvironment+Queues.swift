extension ExplorationEnvironment {
  /// Makes a queue with the schedule's executor and clock. A deadlock report includes the waits of the queue's
  /// procedures.
  ///
  /// - Parameters:
  ///   - name: The name in errors and deadlock reports.
  ///   - maxConcurrentProcedures: The width. A value below 1 traps.
  ///   - isSuspended: Whether the queue starts suspended.
  ///   - maxWaitingProcedures: The largest number of waiting added procedures. A value below 1 traps.
  ///   - overflow: The response to adding to a full queue.
  ///   - contextCarriers: The task-local values that `add` carries from the caller to the body.
  ///   - resources: The table of the queue; `nil` uses the schedule's own table.
  ///   - hooks: The hooks for each procedure, which are awaited.
  /// - Returns: The queue. Its tasks end after the queue is shut down or released.
  public func makeQueue(
    _ name: String = "queue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false,
    maxWaitingProcedures: Int = .max, overflow: QueueOverflow = .refuse, contextCarriers: [ContextCarrier] = [],
    resources: ResourceTable? = nil, hooks: ProcedureHooks? = nil
  ) -> ProcedureQueue {
    var configuration = ProcedureQueue.Configuration(
      name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended)
    configuration.maxWaitingProcedures = maxWaitingProcedures
    configuration.overflow = overflow
    configuration.contextCarriers = contextCarriers
    configuration.resources = resources ?? .shared
    configuration.hooks = hooks
    return makeQueue(configuration)
  }

  /// Makes a queue from a configuration, with the clock, the executor and the seed of the schedule. The shared table of
  /// resources is replaced by the schedule's own table. Without a log of its own, the queue's messages belong to the course
  /// of the schedule: nothing is printed, and the report of a failure shows the messages.
  public func makeQueue(_ configuration: ProcedureQueue.Configuration) -> ProcedureQueue {
    let queue = ProcedureQueue(adapted(configuration))
    explainDeadlock { [weak queue] in
      queue.map { $0.snapshot() }.flatMap { $0.procedures.isEmpty ? nil : "\($0)" }
    }
    return queue
  }

  /// The configuration with the clock, the executor, the seed, the log and the resources of the schedule, for a scope.
  public func adapted(_ configuration: ProcedureQueue.Configuration) -> ProcedureQueue.Configuration {
    var configuration = configuration
    configuration.clock = clock
    configuration.executor = executor
    configuration.seed = UInt64(schedule)
    configuration.log = configuration.log ?? ProcedureLog(to: ExplorationLogHandler(executor: scheduleExecutor))
    if configuration.resources === ResourceTable.shared { configuration.resources = resources }
    return configuration
  }

  /// Adds the state of the run to a deadlock report. Returns `handle`, for `env.watch(queue.add(p))`.
  @discardableResult
  public func watch<Output>(_ handle: ProcedureHandle<Output>) -> ProcedureHandle<Output> {
    explainDeadlock { handle.state == .finished ? nil : "\(handle)" }
    return handle
  }

  /// Starts recording the events of a queue, on the schedule's executor in every context.
  public func recordEvents(of queue: ProcedureQueue) -> EventRecorder {
    EventRecorder(queue, executor: executor)
  }
}
