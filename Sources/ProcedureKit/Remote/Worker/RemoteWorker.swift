/// Executes the calls of a source with the procedures of a registry, on a queue.
///
/// ```swift
/// try await RemoteWorker(registry: registry, queue: queue).run(from: source)
/// ```
///
/// While a call executes, the worker sends a heartbeat after each third of ``RemoteLimits/heartbeatTimeout``. A heartbeat whose answer asks for a cancel
/// cancels the procedure; a heartbeat that is refused does, too, and the worker reports nothing then: the call belongs to another worker.
public struct RemoteWorker: Sendable {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  private let limit: Int?
  private let pauses: Schedule

  /// Makes a worker.
  ///
  /// - Parameters:
  ///   - registry: The procedures.
  ///   - queue: The queue that executes the procedures. The queue's clock measures heartbeats and pauses, and its log gets the messages.
  ///   - limit: How many calls the worker executes at once. `nil` stands for the width of the queue, which must be limited then.
  ///   - pauses: The pauses before a source is asked again after an error, and before an outcome is sent again.
  public init(
    registry: ProcedureRegistry, queue: ProcedureQueue, limit: Int? = nil,
    reconnecting pauses: Schedule = .exponential(from: .milliseconds(100)).capped(at: .seconds(5))
  ) {
    require(limit ?? 1 >= 1, "RemoteWorker: limit is \(limit ?? 1); with less than 1 nothing could run")
    (self.registry, self.queue, self.limit, self.pauses) = (registry, queue, limit, pauses)
  }

  /// Executes calls until the source has no more.
  ///
  /// Cancelling the caller stops the worker: it takes no more calls, cancels the procedures that execute, gives their calls back to the engine, and
  /// then throws.
  ///
  /// - Parameter source: The source of calls.
  /// - Throws: `CancellationError`; the last error of the source, if the pauses have come to an end.
  public func run(from source: some RemoteTaskSource) async throws {
    let width = await queue.maxConcurrentProcedures
    require(limit != nil || width != .max, "RemoteWorker: neither a limit is given, nor has the queue a width")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<(limit ?? width) {
        group.addTask { try await executeTasks(of: source) }
      }
      try await group.waitForAll()
    }
  }

  private func executeTasks(of source: some RemoteTaskSource) async throws {
    var pauses = self.pauses.delays()
    while true {
      try Task.checkCancellation()
      do {
        guard let task = try await source.nextTask() else { return }
        pauses = self.pauses.delays()
        await RemoteDelivery(task: task, queue: queue, pauses: self.pauses).execute(with: registry)
      } catch {
        guard !Task.isCancelled, let pause = pauses.next() else { throw error }
        queue.core.log.warning(
          "a worker has no connection to its engine, and asks again after \(pause.inWords): \(error)")
        try await queue.core.timers.pause(for: pause)
      }
    }
  }
}
