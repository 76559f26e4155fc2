#if canImport(AppKit) && os(macOS)
  import AppKit
  import Foundation
  public import ProcedureKit

  extension Procedure {
    /// Returns a procedure during which the system does not slow the app down.
    ///
    /// The activity begins before the body and ends after it, including all attempts made by earlier modifiers.
    ///
    /// - Parameter allowsSleep: Whether an idle system may sleep during the activity.
    /// - Returns: The procedure with its activity.
    public func asActivity(allowsSleep: Bool = false) -> ProcedureTask<Input, Output> {
      intercepted { context, next in
        let activity = Activity(
          allowsSleep ? .userInitiatedAllowingIdleSystemSleep : .userInitiated, reason: context.name)
        defer { activity.end() }
        return try await next()
      }
    }
  }

  /// Invariant of `@unchecked Sendable`: the token is used only once, to end the activity.
  private final class Activity: @unchecked Sendable {
    private let token: any NSObjectProtocol

    init(_ options: ProcessInfo.ActivityOptions, reason: String) {
      token = ProcessInfo.processInfo.beginActivity(options: options, reason: reason)
    }

    func end() { ProcessInfo.processInfo.endActivity(token) }
  }
#endif
