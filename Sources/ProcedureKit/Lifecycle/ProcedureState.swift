/// The state of one run of a procedure.
///
/// States advance in the order of their declaration, with one exception: a pause goes from ``executing`` to ``pausing``
/// and back to ``executing``, in which a later attempt also waits for conditions and resources. A run can skip states:
/// a cancelled run goes from ``pending`` straight to ``finishing``.
public enum ProcedureState: UInt8, Sendable, CaseIterable {
  /// The run waits for its dependencies.
  case pending
  /// The dependencies have finished. The run evaluates its conditions, or waits for a suspended queue to resume.
  case evaluating
  /// The conditions are satisfied. The run waits for its resources or for a slot.
  case waiting
  /// The body executes.
  case executing
  /// The run pauses before its first attempt (a delay, a rate limiter) or between two attempts. A pausing run holds no
  /// slot.
  case pausing
  /// The outcome is decided; hooks of the end are being called.
  case finishing
  /// The outcome is available. No event follows.
  case finished
}
