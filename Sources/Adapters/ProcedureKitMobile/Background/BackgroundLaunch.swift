#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
  import BackgroundTasks
  public import ProcedureKit

  /// Runs a procedure each time the system launches the app for a background task.
  ///
  /// ```swift
  /// BackgroundLaunch.register("com.example.mail.refresh", refresh, on: queue)
  /// ```
  public enum BackgroundLaunch {
    /// Registers a procedure for launches with one identifier.
    ///
    /// Call this function before the app has finished launching, and list the identifier in the app's `Info.plist`. When the procedure
    /// ends, its success or failure is reported to the system. The procedure is cancelled when its time is over. To request the next launch,
    /// submit a request to `BGTaskScheduler` in the body.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the task.
    ///   - procedure: The procedure.
    ///   - queue: The queue that runs the procedure.
    /// - Returns: Whether the system accepted the registration. It refuses an identifier that is not in `Info.plist`, or has already been
    ///   registered.
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

  /// The reason for the cancellation if the time of a background launch is over.
  public struct BackgroundLaunchExpired: Error, CustomStringConvertible {
    /// The identifier of the task.
    public let identifier: String

    /// The failure as a sentence.
    public var description: String { "the time of the background task \"\(identifier)\" is over" }
  }

  /// Invariant of `@unchecked Sendable`: the system lets any thread set the task's handler and report that the task has ended.
  private final class Launch: @unchecked Sendable {
    private let task: BGTask

    init(_ task: BGTask) {
      self.task = task
    }

    func expires(_ handler: @escaping @Sendable () -> Void) { task.expirationHandler = handler }

    func end(isFinished: Bool) { task.setTaskCompleted(success: isFinished) }
  }
#endif
