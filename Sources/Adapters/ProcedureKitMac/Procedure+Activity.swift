#if canImport(AppKit) && os(macOS)
  import AppKit
  import Foundation
  public import ProcedureKit

  extension Procedure {
    /// Returns a procedure that keeps the system from slowing down the app while the procedure is executing.
    ///
    /// The activity begins before the body starts and ends after the body ends. If a modifier written before this one repeats the body, the
    /// activity spans all attempts.
    ///
    /// - Parameter allowsSleep: Whether an idle system is allowed to go to sleep during the activity.
    /// - Returns: A procedure that executes as an activity.
    public func asActivity(allowsSleep: Bool = false) -> ProcedureTask<Input, Output> {
      intercepted { context, next in
        let activity = Activity(
          allowsSleep ? .userInitiatedAllowingIdleSystemSleep : .userInitiated, reason: context.name)
        defer { activity.end() }
        return try await next()
      }
    }
  }

  /// The invariant that justifies `@unchecked Sendable`: the token is used only once, to end the activity.
  private final class Activity: @unchecked Sendable {
    private let token: any NSObjectProtocol

    init(_ options: ProcessInfo.ActivityOptions, reason: String) {
      token = ProcessInfo.processInfo.beginActivity(options: options, reason: reason)
    }

    func end() { ProcessInfo.processInfo.endActivity(token) }
  }
#endif
