#if canImport(BackgroundTasks) && !os(macOS) && !os(watchOS)
  import BackgroundTasks
  public import ProcedureKit

  /// Runs a procedure each time that the system launches the program for a task in the background.
  ///
  /// ```swift
  /// BackgroundLaunch.register("com.example.mail.refresh", refresh, on: queue)
  /// ```
  public enum BackgroundLaunch {
    /// Registers a procedure for the launches of one identifier.
    ///
    /// Call this before the program has finished launching, and name the identifier in the program's `Info.plist`. The end of the
    /// procedure, and whether it has finished, is reported to the system. The procedure is cancelled when the time is over. To request the
    /// next launch, submit a request of `BGTaskScheduler` in the body.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the task.
    ///   - procedure: The procedure.
    ///   - queue: The queue that runs the procedure.
    /// - Returns: Whether the system has accepted the registration. It refuses an identifier that is not in `Info.plist`, or was registered before.
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

  /// The reason for a cancellation when the time of a launch in the background is over.
  public struct BackgroundLaunchExpired: Error, CustomStringConvertible {
    /// The identifier of the task.
    public let identifier: String

    /// The failure in a sentence.
    public var description: String { "the time of the background task \"\(identifier)\" is over" }
  }

  /// Invariant of `@unchecked Sendable`: the system lets any thread set the handler, and report the end, of its task.
  private final class Launch: @unchecked Sendable {
    private let task: BGTask

    init(_ task: BGTask) {
      self.task = task
    }

    func expires(_ handler: @escaping @Sendable () -> Void) { task.expirationHandler = handler }

    func end(isFinished: Bool) { task.setTaskCompleted(success: isFinished) }
  }
#endif
