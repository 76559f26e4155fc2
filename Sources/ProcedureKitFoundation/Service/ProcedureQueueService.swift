public import ProcedureKit

/// Runs a queue as a service: until a shutdown is requested, and then until the queue has been drained.
///
/// ```swift
/// extension ProcedureQueueService: @retroactive Service {}  // of ServiceLifecycle
/// let service = ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() }
/// ```
///
/// The type has the same interface as `Service` in the package *Swift Service Lifecycle*. It also works without the package, with signals
/// or with any function that returns when the process should end:
///
/// ```swift
/// let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt))
/// try await service.run()
/// ```
public struct ProcedureQueueService: Sendable {
  /// The queue.
  public let queue: ProcedureQueue
  /// How long procedures may take to finish after a shutdown has been requested; `nil` waits for all of them.
  public let grace: Duration?
  private let shutdown: @concurrent @Sendable () async throws -> Void

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - queue: The queue.
  ///   - grace: How long procedures may take to finish after a shutdown has been requested; `nil` waits for all of them.
  ///   - shutdown: Waits, and returns when the service should end. If it throws, the service ends immediately.
  public init(
    _ queue: ProcedureQueue, grace: Duration? = nil,
    until shutdown: @escaping @concurrent @Sendable () async throws -> Void
  ) {
    (self.queue, self.grace, self.shutdown) = (queue, grace, shutdown)
  }

  #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    /// A source of shutdown requests.
    public struct Shutdown: Sendable {
      fileprivate let wait: @concurrent @Sendable () async throws -> Void

      /// Ends the service at the first of the signals.
      ///
      /// The signals are received from this call on, so a signal that arrives before ``ProcedureQueueService/run()`` is called is not lost.
      /// After the first signal, or if the service is cancelled, the previous actions of the signals are restored: pressing Ctrl-C twice
      /// ends the process immediately. A signal that is ignored when this function is called stays ignored.
      ///
      /// - Parameter signals: The signals, usually `.terminate` and `.interrupt`.
      /// - Returns: The source of shutdown requests.
      public static func signals(_ signals: ProcessSignal...) -> Shutdown {
        let received = ProcessSignals(signals)
        return Shutdown {
          defer { received.stop() }
          for await _ in received { break }
          try Task.checkCancellation()
        }
      }
    }

    /// Creates a service that ends at a signal.
    ///
    /// - Parameters:
    ///   - queue: The queue.
    ///   - grace: How long procedures may take to finish after a shutdown has been requested; `nil` waits for all of them.
    ///   - shutdown: The source of shutdown requests, such as `.signals(.terminate, .interrupt)`.
    public init(_ queue: ProcedureQueue, grace: Duration? = nil, until shutdown: Shutdown) {
      self.init(queue, grace: grace, until: shutdown.wait)
    }
  #endif

  /// Waits until a shutdown is requested, refuses further procedures from then on, and returns when all procedures on the queue have
  /// finished.
  ///
  /// Procedures that are left after the grace period are cancelled. Cancelling the caller cancels all procedures immediately, both before
  /// the shutdown and during the grace period; the function still waits for their bodies.
  ///
  /// - Throws: The error thrown while waiting for the shutdown, which is a `CancellationError` after a cancellation.
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
        // The shortest grace period applies. After the queue has ended, no procedures are left to cancel.
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
