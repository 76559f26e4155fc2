#if canImport(UIKit) && !os(watchOS)
  public import Foundation
  public import ProcedureKit
  import UIKit

  /// The error with which a procedure is cancelled when the app's time in the background expires.
  public struct BackgroundTimeExpired: Error, CustomStringConvertible, LocalizedError {
    /// The name of the cancelled procedure.
    public let procedure: String

    /// A sentence that describes the failure.
    public var description: String { "\"\(procedure)\" was cancelled because its background time expired" }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
  }

  extension Procedure {
    /// Returns a procedure that asks the system for time to continue if the app enters the background.
    ///
    /// The request begins before the body starts and ends after the body ends. If a modifier written before this one repeats the body, the
    /// request spans all attempts. If the time expires before the request ends, the procedure is cancelled with ``BackgroundTimeExpired``,
    /// so that the system does not terminate the app. If the system does not grant any time, the procedure is executed anyway.
    ///
    /// - Parameter cancelsOnExpiration: Whether the procedure is cancelled when the time expires. If the value is `false`, the request ends
    ///   without cancelling the procedure, and the system suspends the app.
    /// - Returns: A procedure that requests background time.
    public func withBackgroundTime(cancelsOnExpiration: Bool = true) -> ProcedureTask<Input, Output> {
      intercepted { context, next in
        let time = await BackgroundTime(context, cancels: cancelsOnExpiration)
        do {
          let value = try await next()
          await time.end()
          return value
        } catch {
          await time.end()
          throw error
        }
      }
    }
  }

  /// A request for background time. Ending a request a second time has no effect.
  @MainActor
  private final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init(_ context: ProcedureContext, cancels: Bool) {
      identifier = UIApplication.shared.beginBackgroundTask(withName: context.name) { [weak self] in
        // UIKit calls the handler on the main thread and terminates the app soon afterwards unless the request ends.
        MainActor.assumeIsolated {
          if cancels { context.cancel(BackgroundTimeExpired(procedure: context.name)) }
          self?.end()
        }
      }
    }

    func end() {
      guard identifier != .invalid else { return }
      UIApplication.shared.endBackgroundTask(identifier)
      identifier = .invalid
    }
  }
#endif
