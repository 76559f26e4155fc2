public import ProcedureKit

/// Executes the calls from a source on a queue, with the procedures in a registry.
///
/// ```swift
/// try await RemoteWorker(registry: registry, queue: queue).run(from: source)
/// ```
///
/// While a call is executing, the worker sends a heartbeat after each third of ``RemoteLimits/heartbeatTimeout``. If the answer to a
/// heartbeat requests cancellation, the procedure is cancelled. The procedure is also cancelled if a heartbeat is refused; the worker then
/// reports no outcome, because the call belongs to another worker.
public struct RemoteWorker: Sendable {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  private let limit: Int?
  private let pauses: Schedule

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - registry: The procedures.
  ///   - queue: The queue that executes the procedures. Its clock measures heartbeats and pauses, and its log receives the messages.
  ///   - limit: How many calls the worker may execute at a time. `nil` uses the width of the queue, which must then be limited.
  ///   - pauses: The pauses before the worker asks the source again after an error, and before it sends an outcome again.
  public init(
    registry: ProcedureRegistry, queue: ProcedureQueue, maxConcurrentCalls limit: Int? = nil,
    reconnecting pauses: Schedule = .exponential(from: .milliseconds(100)).capped(at: .seconds(5))
  ) {
    require(limit ?? 1 >= 1, "RemoteWorker: maxConcurrentCalls must be at least 1, got \(limit ?? 1)")
    (self.registry, self.queue, self.limit, self.pauses) = (registry, queue, limit, pauses)
  }

  /// Executes calls until the source has no more.
  ///
  /// Cancelling the caller stops the worker: it takes no more calls, cancels the executing procedures, returns their calls to the engine,
  /// and then throws an error.
  ///
  /// - Parameter source: The source of calls.
  /// - Throws: `CancellationError`; the last error of the source, if no pauses are left.
  public func run(from source: some RemoteTaskSource) async throws {
    let width = await queue.maxConcurrentProcedures
    require(limit != nil || width != .max, "RemoteWorker: pass maxConcurrentCalls, or limit the width of the queue")
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
        queue.core.log.log(
          level: .warning,
          "a worker has no connection to its engine, retrying after \(pause.inWords): \(error)")
        try await queue.core.timers.pause(for: pause)
      }
    }
  }
}

/// A source of calls for a worker: the worker side of an engine.
public protocol RemoteTaskSource: Sendable {
  /// Waits for a call. The call then belongs to the caller, until the caller ends the task or is silent for too long.
  ///
  /// Cancelling the caller ends the wait. A call that has already been taken is not lost: the engine delivers it again.
  ///
  /// - Returns: The task; `nil` if there are no more calls.
  /// - Throws: Any error, after which the worker asks again; `CancellationError`.
  func nextTask() async throws -> (any RemoteTask)?
}

/// One delivery of a call to a worker.
public protocol RemoteTask: Sendable {
  /// The call.
  var call: RemoteCall { get }
  /// The number of this delivery of the call, from 1.
  var delivery: Int { get }
  /// The largest number of bytes in a value. Default: no limit.
  var payloadLimit: Int { get }

  /// Reports to the engine that the worker is active.
  ///
  /// - Parameter progress: The latest progress, if there is any.
  /// - Returns: Whether the caller has cancelled the call.
  /// - Throws: ``RemoteError`` of the kind ``RemoteError/Kind/superseded`` if the call no longer belongs to the worker; any other error
  ///   means that the heartbeat did not arrive.
  func heartbeat(_ progress: RemoteProgress?) async throws -> Bool

  /// Ends the delivery. After an error, the function can be called again.
  ///
  /// - Parameter outcome: The outcome.
  /// - Throws: ``RemoteError`` of the kind ``RemoteError/Kind/superseded`` if the engine refuses the outcome because the call no longer
  ///   belongs to the worker, or of the kind ``RemoteError/Kind/refused`` if it refuses for another reason; any other error means that the
  ///   outcome may not have arrived.
  func end(_ outcome: RemoteOutcome) async throws
}

extension RemoteTask {
  /// The default: no limit.
  public var payloadLimit: Int { .max }
}

/// The outcome of one delivery of a call.
public enum RemoteOutcome: Hashable, Sendable {
  /// The procedure returned a value.
  case finished([UInt8])
  /// The procedure failed, or the worker refused the call. The engine does not deliver the call again.
  case failed(RemoteFailure)
  /// The execution ended because the caller was cancelled.
  case cancelled
  /// The worker is stopping. The engine delivers the call again.
  case abandoned
}
