/// A suite that checks the rules in ``Rule`` for queues with a custom executor, clock or context.
///
/// ```swift
/// @Test(arguments: ProcedureQueueConformance.Rule.allCases)
/// func holds(_ rule: ProcedureQueueConformance.Rule) async throws {
///   let suite = ProcedureQueueConformance { name, width, isSuspended in
///     var configuration = ProcedureQueue.Configuration(name, maxConcurrentProcedures: width, isSuspended: isSuspended)
///     configuration.executor = MyExecutor()
///     return ProcedureQueue(configuration)
///   }
///   try await suite.check(rule)
/// }
/// ```
///
/// The suite works with any test framework: a violation is an error, ``ConformanceViolation``. Checks do not sleep and
/// do not depend on speed. Within an exploration, a check is a part of the schedule and has no time limit.
public struct ProcedureQueueConformance: Sendable {
  /// Makes a new queue with the given name, width and suspension. Each call has to return another queue.
  public typealias MakeQueue =
    @Sendable (_ name: String, _ maxConcurrentProcedures: Int, _ isSuspended: Bool) -> ProcedureQueue

  private let makeQueue: MakeQueue
  private let isOnQueueExecutor: @Sendable () -> Bool
  private let patience: Duration?

  /// Makes a suite for the queues of `makeQueue`.
  ///
  /// - Parameters:
  ///   - patience: The real time after which a check counts as a violation. The tasks of such a check are cancelled and
  ///     not awaited. `nil` waits without limit, in the caller's task, as does every check within an exploration, which
  ///     detects a standstill by itself.
  ///   - isOnQueueExecutor: Returns whether the calling code executes on the executor of the queue. Rule Q6 calls the
  ///     function inside of bodies. With the default, rule Q6 only checks that bodies execute.
  ///   - makeQueue: Makes a new queue.
  public init(
    patience: Duration? = .seconds(60), isOnQueueExecutor: @escaping @Sendable () -> Bool = { true },
    makeQueue: @escaping MakeQueue
  ) {
    self.patience = patience
    self.isOnQueueExecutor = isOnQueueExecutor
    self.makeQueue = makeQueue
  }

  /// Checks one rule. Cancelling the caller ends the check.
  ///
  /// - Parameter rule: The rule to check.
  /// - Throws: ``ConformanceViolation`` for a violation; `CancellationError` if the caller is cancelled.
  @concurrent public func check(_ rule: Rule) async throws {
    let trial = ConformanceTrial(of: rule, makeQueue: makeQueue, isOnQueueExecutor: isOnQueueExecutor)
    do {
      if let patience, ScheduleExecutor.current == nil {
        let isOver = try await KitSpawner.run(atMost: patience) { try await trial.run() }
        if !isOver { throw await trial.standstill(after: patience) }
      } else {
        try await trial.run()
      }
    } catch let error where !(error is ConformanceViolation) && !Task.isCancelled {
      await trial.cancelAll()
      throw trial.violation("nothing else fails", "\(error)")
    } catch {
      await trial.cancelAll()
      throw error
    }
  }

  /// Checks all rules in order, up to the first violation. Cancelling the caller ends the check.
  ///
  /// - Throws: ``ConformanceViolation`` for the first violation; `CancellationError` if the caller is cancelled.
  @concurrent public func checkAll() async throws {
    for rule in Rule.allCases { try await check(rule) }
  }
}
