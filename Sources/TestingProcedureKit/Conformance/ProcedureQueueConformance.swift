/// Holds a queue to the rules of ProcedureKit that ``Rule`` lists: for those who bring an executor, a clock or a context of
/// their own.
///
/// ```swift
/// @Test(arguments: ProcedureQueueConformance.Rule.allCases)
/// func holds(_ rule: ProcedureQueueConformance.Rule) async throws {
///   let suite = ProcedureQueueConformance { name, width, isSuspended in
///     ProcedureQueue(name, maxConcurrentProcedures: width, isSuspended: isSuspended, executor: MyExecutor())
///   }
///   try await suite.check(rule)
/// }
/// ```
///
/// It works under any test framework, since a rule that does not hold is an error: ``ConformanceViolation``. Checks do
/// not sleep, and do not depend on speed. Within an exploration a check is
/// part of its schedule, and has all the patience there is.
public struct ProcedureQueueConformance: Sendable {
  /// Makes a new queue of that name and width, suspended or not. It must not return the same queue twice.
  public typealias MakeQueue =
    @Sendable (_ name: String, _ maxConcurrentProcedures: Int, _ isSuspended: Bool) -> ProcedureQueue

  private let makeQueue: MakeQueue
  private let isOnQueueExecutor: @Sendable () -> Bool
  private let patience: Duration?

  /// A suite for the queues that `makeQueue` makes.
  ///
  /// - Parameters:
  ///   - patience: How long, in real time, one rule may take before it counts as violated; what waits then is cancelled
  ///     and left behind, as nobody knows whether it will ever end. `nil` to wait for ever, in the caller's own task,
  ///     as is done within explorations anyway: they notice for themselves when nothing can go on.
  ///   - isOnQueueExecutor: Whether the calling code executes where the queue's bodies should. Rule Q6 asks it inside of
  ///     bodies; without an answer, it sees only that bodies are executed.
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
  /// - Parameter rule: What has to hold.
  /// - Throws: ``ConformanceViolation`` if it does not; `CancellationError` if the caller is cancelled.
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

  /// Checks all rules, one after the other, up to the first that does not hold. Cancelling the caller ends the check.
  ///
  /// - Throws: ``ConformanceViolation`` for that rule; `CancellationError` if the caller is cancelled.
  @concurrent public func checkAll() async throws {
    for rule in Rule.allCases { try await check(rule) }
  }
}
