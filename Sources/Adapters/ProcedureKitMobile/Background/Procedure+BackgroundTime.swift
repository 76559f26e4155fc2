#if canImport(UIKit) && !os(watchOS)
  public import ProcedureKit
  import UIKit

  /// The reason for a cancellation when the time of the program in the background is over.
  public struct BackgroundTimeExpired: Error, CustomStringConvertible {
    /// The name of the cancelled procedure.
    public let procedure: String

    /// The failure in a sentence.
    public var description: String { "the time in the background is over, and \"\(procedure)\" was cancelled" }
  }

  extension Procedure {
    /// Returns the procedure, which requests time from the system to continue when the program enters the background.
    ///
    /// The request begins before the body and ends after the body, including all attempts of earlier modifiers. If the time is over first, the
    /// procedure is cancelled with ``BackgroundTimeExpired``, so that the system does not end the program. If the system grants no time,
    /// the procedure is executed without it.
    ///
    /// - Parameter cancelsOnExpiration: Whether the end of the time cancels the procedure. Otherwise only the request ends, and the
    ///   system suspends the program.
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

  /// A request for time in the background, which ends exactly once.
  @MainActor
  private final class BackgroundTime {
    private var identifier = UIBackgroundTaskIdentifier.invalid

    init(_ context: ProcedureContext, cancels: Bool) {
      identifier = UIApplication.shared.beginBackgroundTask(withName: context.name) { [weak self] in
        // UIKit calls the handler on the main thread, and ends the program soon after.
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
