public import ProcedureKit

/// A worker that takes calls from a source and executes the corresponding procedures from a registry on a queue.
///
/// ```swift
/// try await RemoteWorker(registry: registry, queue: queue).run(from: source)
/// ```
///
/// While a call is executing, the worker sends heartbeats at intervals of one third of ``RemoteLimits/heartbeatTimeout``. If the response
/// to a heartbeat requests cancellation, the worker cancels the procedure. If the engine refuses a heartbeat because the call now belongs
/// to a different worker, this worker cancels the procedure and reports no outcome.
public struct RemoteWorker: Sendable {
  private let registry: ProcedureRegistry
  private let queue: ProcedureQueue
  private let limit: Int?
  private let pauses: Schedule

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - registry: The procedures that can be called.
  ///   - queue: The queue that executes the procedures. Its clock measures the pauses and the intervals between heartbeats, and its log
  ///     receives the worker's messages.
  ///   - limit: The maximum number of calls that the worker executes at a time. If it is `nil`, the queue's `maxConcurrentProcedures` is
  ///     used, which must then be limited.
  ///   - pauses: The pauses between an error and the next attempt to get a call or to send an outcome.
  public init(
    registry: ProcedureRegistry, queue: ProcedureQueue, maxConcurrentCalls limit: Int? = nil,
    reconnecting pauses: Schedule = .exponential(from: .milliseconds(100)).capped(at: .seconds(5))
  ) {
    require(limit ?? 1 >= 1, "RemoteWorker: maxConcurrentCalls must be at least 1, got \(limit ?? 1)")
    (self.registry, self.queue, self.limit, self.pauses) = (registry, queue, limit, pauses)
  }

  /// Executes calls until the source has no more calls.
  ///
  /// Cancelling the calling task stops the worker. The worker then takes no more calls and sends no more heartbeats, cancels the procedures
  /// that are executing, returns their calls to the engine when the procedures have ended, and throws an error.
  ///
  /// - Parameter source: The source of calls.
  /// - Throws: `CancellationError` if the calling task is cancelled; the last error of the source if no retries are left.
  public func run(from source: some RemoteTaskSource) async throws {
    let width = queue.maxConcurrentProcedures
    require(
      limit != nil || width != .max, "RemoteWorker: pass maxConcurrentCalls, or set the queue's maxConcurrentProcedures"
    )
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
          "a worker cannot reach its engine, and will try again in \(pause.inWords): \(error)")
        try await queue.core.timers.pause(for: pause)
      }
    }
  }
}

/// A source of calls for a worker. This protocol represents the worker side of an engine.
public protocol RemoteTaskSource: Sendable {
  /// Waits for a call. The call belongs to the worker until the worker ends the task, or until the engine has waited too long for a
  /// heartbeat.
  ///
  /// Cancelling the calling task ends the wait. If a call has already been taken by then, it is not lost, because the engine receives no
  /// heartbeats for it and delivers it again.
  ///
  /// - Returns: The task that represents the call; `nil` if there are no more calls.
  /// - Throws: `CancellationError` if the calling task is cancelled. After any other error, the worker calls this function again.
  func nextTask() async throws -> (any RemoteTask)?
}

/// One delivery of a call to a worker.
public protocol RemoteTask: Sendable {
  /// The call that the worker executes.
  var call: RemoteCall { get }
  /// The number of this delivery of the call, starting from 1.
  var delivery: Int { get }
  /// The maximum size of a value, in bytes. By default, there is no limit.
  var payloadLimit: Int { get }

  /// Reports to the engine that the worker is active.
  ///
  /// - Parameter progress: The latest progress; `nil` if no progress has been reported.
  /// - Returns: Whether the caller has cancelled the call.
  /// - Throws: A ``RemoteError`` of kind ``RemoteError/Kind/superseded`` if the call no longer belongs to the worker. Any other error
  ///   means that the heartbeat may not have arrived.
  func heartbeat(_ progress: RemoteProgress?) async throws -> Bool

  /// Ends the delivery by reporting its outcome. After an error, this function can be called again.
  ///
  /// - Parameter outcome: The outcome to report.
  /// - Throws: A ``RemoteError`` if the engine refuses the outcome. Its kind is ``RemoteError/Kind/superseded`` if the call no longer
  ///   belongs to the worker, and ``RemoteError/Kind/refused`` otherwise. Any other error means that the outcome may not have arrived.
  func end(_ outcome: RemoteOutcome) async throws
}

extension RemoteTask {
  /// The default, which means that there is no limit.
  public var payloadLimit: Int { .max }
}

/// The outcome of one delivery of a call.
@frozen
public enum RemoteOutcome: Hashable, Sendable {
  /// The procedure returned a value.
  case finished([UInt8])
  /// The procedure failed, its value could not be sent, or the worker refused the call. The engine does not deliver the call again.
  case failed(RemoteFailure)
  /// The execution ended because the call was cancelled.
  case cancelled
  /// The execution ended because the worker is stopping. The engine delivers the call again, unless the call has been cancelled or has no
  /// deliveries left.
  case abandoned
}
