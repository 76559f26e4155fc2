import Synchronization

/// One check of one rule: its queues, its current expectation, and its violations.
final class ConformanceTrial: Sendable {
  private struct WeakQueue: Sendable {
    weak var queue: ProcedureQueue?
  }

  private struct State {
    var queues: [WeakQueue] = []
    var stage = "the check begins"
  }

  let rule: ProcedureQueueConformance.Rule
  let makeQueue: ProcedureQueueConformance.MakeQueue
  let isOnQueueExecutor: @Sendable () -> Bool
  private let state = Mutex(State())

  init(
    of rule: ProcedureQueueConformance.Rule, makeQueue: @escaping ProcedureQueueConformance.MakeQueue,
    isOnQueueExecutor: @escaping @Sendable () -> Bool
  ) {
    self.rule = rule
    self.makeQueue = makeQueue
    self.isOnQueueExecutor = isOnQueueExecutor
  }

  /// Makes a queue, which the trial does not keep alive.
  func queue(_ name: String = "queue", width: Int = .max, isSuspended: Bool = false) -> ProcedureQueue {
    let queue = makeQueue(name, width, isSuspended)
    state.withLock { $0.queues.append(WeakQueue(queue: queue)) }
    return queue
  }

  /// Checks the rule, and that every queue is idle in the end.
  func run() async throws {
    try await rule.check(self)
    await cancelAll()
    for queue in livingQueues {
      await reach("the queue \"\(queue.name)\" is idle in the end") { await queue.shutDown() }
      let inUse = queue.snapshot().slotsInUse
      try expect(inUse, is: 0, "slots in use in the end")
    }
  }

  // MARK: Expectations

  /// Waits for a stage that the rule promises.
  func reach<R>(
    _ stage: String, _ wait: nonisolated(nonsending) () async throws -> R
  ) async rethrows -> R {
    state.withLock { $0.stage = stage }
    return try await wait()
  }

  func expect(_ holds: Bool, _ expectation: String, _ observation: @autoclosure () -> Any) throws {
    if !holds { throw violation(expectation, "\(observation())") }
  }

  func expect<Value: Equatable>(_ value: Value, is expected: Value, _ what: String) throws {
    if value != expected { throw violation("\(what): \(expected)", "\(value)") }
  }

  func violation(_ expectation: String, _ observation: String) -> ConformanceViolation {
    ConformanceViolation(rule: rule, expectation: expectation, observation: observation)
  }

  // MARK: Remaining queues

  /// Returns the violation of a check that exceeds its time limit.
  func standstill(after patience: Duration) async -> ConformanceViolation {
    var lines = ["not within \(patience)"]
    for queue in livingQueues { lines.append("\(queue.snapshot())") }
    return violation(state.withLock { $0.stage }, lines.joined(separator: "\n"))
  }

  func cancelAll() async {
    for queue in livingQueues {
      await queue.cancelAll()
      await queue.resume()
    }
  }

  private var livingQueues: [ProcedureQueue] {
    state.withLock { $0.queues }.compactMap(\.queue)
  }
}

/// The error of bodies in a trial.
struct TrialError: Error, Equatable {
  var number = 0
}
