/// What follows from a failed attempt; see ``Procedure/retry(_:maxAttempts:budget:when:)``.
public enum RetryDecision<Input: Sendable, Output: Sendable>: Sendable {
  /// Another attempt, after the next delay of the schedule.
  case retry
  /// Another attempt, after this delay instead of the schedule's next one: what a server has asked for, say.
  case retryAfter(Duration)
  /// No other attempt: the error is thrown.
  case stop
  /// Another attempt, after the next delay of the schedule, and from then on with this procedure.
  case replace(by: any Procedure<Input, Output>)
}
