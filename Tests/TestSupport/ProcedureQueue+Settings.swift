public import ProcedureKit

extension ProcedureQueue {
  /// Creates a queue with the settings that tests change most often.
  public init(
    _ name: String, maxConcurrentProcedures: Int = .max, isSuspended: Bool = false,
    clock: any Clock<Duration> = ContinuousClock(), executor: (any TaskExecutor)? = nil,
    maxWaitingProcedures: Int = .max, overflow: QueueOverflow = .refuse, contextCarriers: [ContextCarrier] = [],
    resources: ResourceTable = .shared, seed: UInt64? = nil
  ) {
    var configuration = Configuration(
      name, maxConcurrentProcedures: maxConcurrentProcedures, isSuspended: isSuspended)
    configuration.clock = clock
    configuration.executor = executor
    configuration.maxWaitingProcedures = maxWaitingProcedures
    configuration.overflow = overflow
    configuration.contextCarriers = contextCarriers
    configuration.resources = resources
    configuration.seed = seed
    configuration.onUnobservedFailure = { _ in }
    self.init(configuration)
  }
}
