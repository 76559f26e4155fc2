#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
  import BackgroundTasks
  public import Foundation
  public import ProcedureKit

  /// A namespace for registering procedures that run each time the system launches the app for a background task.
  ///
  /// ```swift
  /// BackgroundLaunch.register("com.example.mail.refresh", refresh, on: queue)
  /// ```
  public enum BackgroundLaunch {
    /// Registers a procedure that runs when the system launches the app for the task with the given identifier.
    ///
    /// Call this function before the app finishes launching, and list the identifier in the app's `Info.plist`. When the procedure
    /// ends, its success or failure is reported to the system. If the app runs out of background time, the procedure is cancelled. To
    /// request the next launch, submit a request to `BGTaskScheduler` in the procedure's body.
    ///
    /// Register each identifier only once, because the system terminates the app if an identifier is registered again.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the task.
    ///   - procedure: The procedure to run.
    ///   - queue: The queue that runs the procedure.
    /// - Returns: Whether the system accepted the registration. The system refuses an identifier that is not in `Info.plist`.
    @discardableResult
    public static func register<P: Procedure<Void, Void>>(
      _ identifier: String, _ procedure: P, on queue: ProcedureQueue = .shared
    ) -> Bool {
      BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { task in
        let launch = Launch(task)
        let handle = queue.add(procedure.onDidFinish { outcome in launch.end(isFinished: outcome.value != nil) })
        launch.expires { handle.cancel(BackgroundLaunchExpired(identifier: identifier)) }
      }
    }
  }

  /// The error with which a procedure is cancelled when the time for a background launch expires.
  public struct BackgroundLaunchExpired: Error, CustomStringConvertible, LocalizedError {
    /// The identifier of the task.
    public let identifier: String

    /// A sentence that describes the failure.
    public var description: String { "the time for the background task \"\(identifier)\" has expired" }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
  }

  /// The invariant that justifies `@unchecked Sendable`: the system permits any thread to set the task's handler and to report that the
  /// task has ended.
  private final class Launch: @unchecked Sendable {
    private let task: BGTask

    init(_ task: BGTask) {
      self.task = task
    }

    func expires(_ handler: @escaping @Sendable () -> Void) { task.expirationHandler = handler }

    func end(isFinished: Bool) { task.setTaskCompleted(success: isFinished) }
  }
#endif
