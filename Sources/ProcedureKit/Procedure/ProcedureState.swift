/// The state of one run of a procedure.
///
/// A run ends in ``finished``, and can skip states: a cancelled run changes from ``pending`` directly to ``finishing``. The cases
/// are not ordered in time: after a pause, the next attempt of a run waits and executes again. Use ``hasStarted`` and
/// ``isFinished`` to find out how far a run is.
public enum ProcedureState: Codable, Sendable, CaseIterable {
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

  /// Whether the waits before the start are over: the run executes, pauses, or is at its end.
  ///
  /// A run at its end counts even if the body was not executed. An attempt after a pause can wait again, as before a start.
  public var hasStarted: Bool {
    switch self {
    case .pending, .evaluating, .waiting: false
    case .executing, .pausing, .finishing, .finished: true
    }
  }

  /// Whether the outcome is available.
  public var isFinished: Bool { self == .finished }
}
