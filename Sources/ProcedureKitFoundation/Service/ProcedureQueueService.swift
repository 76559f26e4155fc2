public import ProcedureKit

/// A service that runs a queue until a shutdown is requested. It then refuses new procedures and waits until the procedures on the queue
/// have finished.
///
/// ```swift
/// extension ProcedureQueueService: @retroactive Service {}  // from ServiceLifecycle
/// let service = ProcedureQueueService(jobs, grace: .seconds(20)) { try await gracefulShutdown() }
/// ```
///
/// The type has the interface that the `Service` protocol of the package *Swift Service Lifecycle* requires. It also works without that
/// package, with signals or with any function that returns when the process should end:
///
/// ```swift
/// let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt))
/// try await service.run()
/// ```
///
/// To save the procedures that were cancelled when the grace period ended, pass a function that receives the shutdown report:
///
/// ```swift
/// let service = ProcedureQueueService(jobs, grace: .seconds(20), until: .signals(.terminate, .interrupt)) { report in
///   log("shut down: \(report)")
/// }
/// ```
public struct ProcedureQueueService: Sendable {
  /// The queue that the service shuts down.
  public let queue: ProcedureQueue
  /// How long procedures are allowed to continue after a shutdown is requested. If it is `nil`, the service waits until all procedures
  /// have finished.
  public let grace: Duration?
  private let shutdown: @concurrent @Sendable () async throws -> Void
  private let onShutDown: ReportHandler

  /// A function that receives the procedures cancelled by the shutdown.
  public typealias ReportHandler =
    @concurrent @Sendable (_ report: ProcedureQueue.CancellationReport) async throws -> Void

  /// Creates a service.
  ///
  /// - Parameters:
  ///   - queue: The queue that the service shuts down.
  ///   - grace: How long procedures are allowed to continue after a shutdown is requested. If it is `nil`, the service waits until all
  ///     procedures have finished.
  ///   - shutdown: A function that waits for a shutdown request and returns when the service should end. If it throws an error, the service
  ///     ends immediately.
  ///   - onShutDown: A function that receives the procedures cancelled by the shutdown. It is called in the service's task, which may have
  ///     been cancelled.
  public init(
    _ queue: ProcedureQueue, grace: Duration? = nil,
    until shutdown: @escaping @concurrent @Sendable () async throws -> Void,
    onShutDown: @escaping ReportHandler = { _ in }
  ) {
    (self.queue, self.grace, self.shutdown, self.onShutDown) = (queue, grace, shutdown, onShutDown)
  }

  #if canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android)
    /// A source of shutdown requests.
    public struct Shutdown: Sendable {
      fileprivate let wait: @concurrent @Sendable () async throws -> Void

      /// Returns a source that requests a shutdown when the process receives any of the given signals.
      ///
      /// This function starts receiving the signals, so a signal that arrives before the call to ``ProcedureQueueService/run()`` is not
      /// lost. After the first signal, or after the service is cancelled, the previous actions of the signals are restored. Pressing Ctrl-C
      /// twice therefore ends the process immediately. A signal that is being ignored when this function is called stays ignored.
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

    /// Creates a service that ends when the process receives a signal.
    ///
    /// - Parameters:
    ///   - queue: The queue that the service shuts down.
    ///   - grace: How long procedures are allowed to continue after a shutdown is requested. If it is `nil`, the service waits until
    ///     all procedures have finished.
    ///   - shutdown: The source of shutdown requests, such as `.signals(.terminate, .interrupt)`.
    ///   - onShutDown: A function that ``run()`` calls with the cancelled procedures after the queue is shut down, even if no procedures
    ///     were cancelled. If the service's task was cancelled, the function executes in that cancelled task.
    public init(
      _ queue: ProcedureQueue, grace: Duration? = nil, until shutdown: Shutdown,
      onShutDown: @escaping ReportHandler = { _ in }
    ) {
      self.init(queue, grace: grace, until: shutdown.wait, onShutDown: onShutDown)
    }
  #endif

  /// Waits until a shutdown is requested, then refuses new procedures, and returns when all procedures on the queue have finished.
  ///
  /// Procedures that have not finished by the end of the grace period are cancelled. Cancelling the caller cancels all procedures
  /// immediately, even before the shutdown or during the grace period. Even then, the function returns only when all executing bodies have
  /// returned.
  ///
  /// - Throws: The error thrown by the function that receives the report. If that function does not throw, the error thrown while waiting
  ///   for the shutdown, such as `CancellationError` if the caller is cancelled.
  public func run() async throws {
    do {
      try await shutdown()
    } catch {
      try await onShutDown(queue.shutDown(grace: .zero))
      throw error
    }
    let report = await withTaskGroup { group in
      group.addTask { await queue.shutDown(grace: grace) }
      group.addTask {
        await untilCancelled()
        // The shortest grace period applies, so this call cancels the remaining procedures immediately. If the queue has already shut down,
        // there is nothing left to cancel.
        return await queue.shutDown(grace: .zero)
      }
      // Whichever call returns first, its report is complete, since every report contains the cancellations of both calls.
      let report = await group.next()
      group.cancelAll()
      return report
    }
    if let report { try await onShutDown(report) }
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
