public import Foundation
public import ProcedureKit

extension ProcedureError: LocalizedError {
  /// What happened to the procedure, in words for the users of the app: `“Upload” was not executed.`
  ///
  /// Names appear without ids, and the underlying error is described by its `localizedDescription`. For advice to programmers, see
  /// ``ProcedureKit/ProcedureError/advice``.
  public var errorDescription: String? { sentence(localizedStatement.event) }

  /// The reason; `nil` if ``errorDescription`` already contains it.
  public var failureReason: String? { localizedStatement.reason.map(sentence) }

  /// When another attempt makes sense; `nil` if another attempt would fail in the same way, or if the time is unknown.
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

  /// Returns the text as a sentence, with a capital letter and a full stop.
  private func sentence(_ text: String) -> String {
    let isComplete = text.last.map { ".!?".contains($0) } ?? true
    return text.prefix(1).uppercased() + text.dropFirst() + (isComplete ? "" : ".")
  }

  /// Returns the duration in whole seconds, rounded up.
  private static func words(for duration: Duration) -> String {
    let (seconds, fraction) = duration.components
    return max(seconds + (fraction > 0 ? 1 : 0), 1).counting("second")
  }
}
