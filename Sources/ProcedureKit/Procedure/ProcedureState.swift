/// The state of one run of a procedure.
///
/// A run ends in ``finished``, and can skip states: a cancelled run changes from ``pending`` directly to ``finishing``. A run can also
/// return to an earlier state. After a pause between two attempts, it waits again and then executes the next attempt. After
/// ``ProcedureHandle/addDependency(_:)`` adds a dependency, it is pending again. Use ``hasStarted`` and ``isFinished`` to find out how far
/// a run has progressed.
@nonexhaustive
public enum ProcedureState: Sendable, CaseIterable {
  /// The run is waiting for its dependencies.
  case pending
  /// The dependencies have finished. The run is evaluating its conditions or is waiting for a suspended queue to be resumed.
  case evaluating
  /// The conditions are satisfied. The run is waiting for its resources or for a slot.
  case waiting
  /// The body, or a hook around it, is executing.
  case executing
  /// The run is pausing before its first attempt, because of a delay or a rate limiter, or between two attempts. A pausing run holds no
  /// slot.
  case pausing
  /// The body has ended. The run is waiting for its children, or its end hooks are being called.
  case finishing
  /// The outcome is available. No further events follow.
  case finished

  /// Whether the run is no longer waiting to start: it is executing or pausing, or has reached its end.
  ///
  /// A run that has reached its end is considered started even if the body was not executed. After a pause, the value can be `false` again,
  /// because the next attempt may have to wait.
  public var hasStarted: Bool {
    switch self {
    case .pending, .evaluating, .waiting: false
    case .executing, .pausing, .finishing, .finished: true
    }
  }

  /// Whether the outcome is available.
  public var isFinished: Bool { self == .finished }
}

extension ProcedureState: Codable {
  /// The encoded name of the state, which stays the same even if the case is renamed.
  private var encodedName: String {
    switch self {
    case .pending: "pending"
    case .evaluating: "evaluating"
    case .waiting: "waiting"
    case .executing: "executing"
    case .pausing: "pausing"
    case .finishing: "finishing"
    case .finished: "finished"
    }
  }

  /// Decodes a state from its name.
  ///
  /// - Throws: `DecodingError` if the value is not the name of a state.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let name = try container.decode(String.self)
    guard let state = Self.allCases.first(where: { $0.encodedName == name }) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\(name.quoted) is not the name of a state")
    }
    self = state
  }

  /// Encodes the state as its name, such as `executing`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(encodedName)
  }
}
