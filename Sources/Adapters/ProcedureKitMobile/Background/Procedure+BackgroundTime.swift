#if canImport(UIKit) && !os(watchOS)
  public import ProcedureKit
  import UIKit

  /// The reason for the cancellation if the app's time in the background is over.
  public struct BackgroundTimeExpired: Error, CustomStringConvertible {
    /// The name of the cancelled procedure.
    public let procedure: String

    /// The failure as a sentence.
    public var description: String { "the time in the background is over, and \"\(procedure)\" was cancelled" }
  }

  extension Procedure {
    /// Returns a procedure that asks the system for time to continue when the app enters the background.
    ///
    /// The request begins before the body and ends after it, including all attempts made by earlier modifiers. If the time is over before
    /// that, the procedure is cancelled with ``BackgroundTimeExpired``, so that the system does not terminate the app. If the system does
    /// not grant any time, the procedure is executed anyway.
    ///
    /// - Parameter cancelsOnExpiration: Whether the procedure is cancelled when the time is over. If not, only the request ends, and the
    ///   system suspends the app.
    /// - Returns: The procedure with the request.
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

  /// A request for time in the background. It ends exactly once.
  @MainActor
  private final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init(_ context: ProcedureContext, cancels: Bool) {
      identifier = UIApplication.shared.beginBackgroundTask(withName: context.name) { [weak self] in
        // UIKit calls the handler on the main thread, and terminates the app soon afterwards.
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
