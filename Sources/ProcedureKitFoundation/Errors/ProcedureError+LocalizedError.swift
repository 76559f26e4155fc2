public import Foundation
public import ProcedureKit

extension ProcedureError: LocalizedError {
  /// A description of what happened to the procedure, in words that the app's users understand, for example `“Upload” was not executed.`
  ///
  /// Procedures are identified by name only, and the underlying error is described by its `localizedDescription`. For advice to
  /// programmers, see ``ProcedureKit/ProcedureError/advice``.
  public var errorDescription: String? { localizedStatement.event.asSentence }

  /// The reason for the error; `nil` if ``errorDescription`` already contains the reason.
  public var failureReason: String? { localizedStatement.reason?.asSentence }

  /// Advice on when to try again; `nil` if another attempt would fail in the same way, or if it is not known when an attempt could succeed.
  public var recoverySuggestion: String? {
    switch kind {
    case .circuitOpen, .rateExceeded: self.retryAfter.map { "Try again in \(Self.words(for: $0))." }
    case .queueFull, .timedOut, .replaced: "Try again later."
    default: nil
    }
  }

  private var localizedStatement: (event: String, reason: String?) {
    statement(naming: { "“\($0.name)”" }, \.localizedDescription)
  }

  /// Returns the duration in whole seconds, rounded up.
  private static func words(for duration: Duration) -> String {
    let (seconds, fraction) = duration.components
    return max(seconds + (fraction > 0 ? 1 : 0), 1).counting("second")
  }
}
