public import ProcedureKit

/// Runs a queue as a service: until a shutdown is asked for, and then until the queue is drained.
///
/// ```swift
/// extension ProcedureQueueService: @retroactive Service {}  // of ServiceLifecycle
/// let service = ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() }
/// ```
///
/// The type has the shape of the `Service` of the package *Swift Service Lifecycle*, and works without the package: with any function that
/// returns when the program has to end.
public struct ProcedureQueueService: Sendable {
  /// The queue.
  public let queue: ProcedureQueue
  /// The time that procedures have to finish after a shutdown; `nil` waits for all.
  public let grace: Duration?
  private let shutdown: @concurrent @Sendable () async throws -> Void

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - grace: The time that procedures have to finish after a shutdown; `nil` waits for all.
  ///   - shutdown: Waits, and returns when the service has to end. An error ends the service at once.
  public init(
    _ queue: ProcedureQueue, grace: Duration? = nil,
    until shutdown: @escaping @concurrent @Sendable () async throws -> Void
  ) {
    (self.queue, self.grace, self.shutdown) = (queue, grace, shutdown)
  }

  /// Waits for the shutdown, refuses further procedures from then on, and returns when all procedures of the queue have finished.
  ///
  /// Procedures that are left after the grace period are cancelled. A cancel of the caller cancels all procedures at once, before the
  /// shutdown and during the grace period, and the function still waits for their bodies.
  ///
  /// - Throws: The error of waiting for the shutdown, which is a `CancellationError` after a cancel.
  public func run() async throws {
    do {
      try await shutdown()
    } catch {
      await queue.shutDown(grace: .zero)
      throw error
    }
    await withTaskGroup { group in
      group.addTask { await queue.shutDown(grace: grace) }
      group.addTask {
        await untilCancelled()
        // The shortest grace period counts. After the end of the queue, nothing is left to cancel.
        await queue.shutDown(grace: .zero)
      }
      await group.next()
      group.cancelAll()
    }
  }

  private func untilCancelled() async {
    let (cancels, cancel) = AsyncStream.makeStream(of: Never.self)
    await withTaskCancellationHandler {
      for await _ in cancels {}
    } onCancel: {
      cancel.finish()
    }
  }
}
