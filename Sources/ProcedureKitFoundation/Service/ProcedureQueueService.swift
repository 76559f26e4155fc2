public import ProcedureKit

/// Runs a queue as a service: until a shutdown is asked for, and then until the queue is drained.
///
/// ```swift
/// extension ProcedureQueueService: @retroactive Service {}  // of ServiceLifecycle
/// let service = ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() }
/// ```
///
/// The type has the shape of the `Service` of the package *Swift Service Lifecycle*, and works without the package, with signals or with any
/// function that returns when the program has to end:
///
/// ```swift
/// let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt))
/// try await service.run()
/// ```
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

  #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    /// An occasion to end a service.
    public struct Shutdown: Sendable {
      fileprivate let wait: @concurrent @Sendable () async throws -> Void

      /// Ends the service at the first of the signals.
      ///
      /// The signals are received from this call on, so one that arrives before ``ProcedureQueueService/run()`` is not lost. After the first
      /// signal, or when the service is cancelled, the signals have their former effect again: pressing Ctrl-C twice ends the process at once.
      /// A signal that is ignored at this call stays ignored.
      ///
      /// - Parameter signals: The signals, usually `.terminate` and `.interrupt`.
      /// - Returns: The occasion.
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
    ///   - grace: The time that procedures have to finish after a shutdown; `nil` waits for all.
    ///   - shutdown: The occasion to end, such as `.signals(.terminate, .interrupt)`.
    public init(_ queue: ProcedureQueue, grace: Duration? = nil, until shutdown: Shutdown) {
      self.init(queue, grace: grace, until: shutdown.wait)
    }
  #endif

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
