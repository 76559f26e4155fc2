/// The decision after a failed attempt; see ``Procedure/retry(_:maxAttempts:budget:when:)``.
public enum RetryDecision<Input: Sendable, Output: Sendable>: Sendable {
  /// Make another attempt after the schedule's next delay.
  case retry
  /// Make another attempt after the given delay instead of the schedule's, for example a delay that a server asked for.
  case retryAfter(Duration)
  /// Throw the error without another attempt.
  case stop
  /// Make another attempt after the schedule's next delay, and use the given procedure from then on.
  case replace(by: any Procedure<Input, Output>)
}
