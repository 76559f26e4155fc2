/// What the framework itself decided about a run; errors that a body throws are passed on as they are.
///
/// Every case names the run concerned. Two errors can be compared by their ``kind-swift.property``.
public enum ProcedureError: Error, Sendable {
  /// A condition threw, or was satisfied where it had been negated: the body was not executed.
  case conditionFailed(procedure: ProcedureIdentity, condition: String, underlying: any Error)
  /// A condition was not satisfied, so the body was not executed; that is no failure of anything.
  case ignored(procedure: ProcedureIdentity, by: String)
  /// Something that the procedure depends on failed: the body was not executed. `dependency` is what it depends on itself;
  /// `origin` is where the failure began and `underlying` is the error there, however many dependents lie between.
  case dependencyFailed(
    procedure: ProcedureIdentity, dependency: ProcedureIdentity, origin: ProcedureIdentity, underlying: any Error)
  /// The queue had been shut down before the procedure came to it.
  case queueShutDown(procedure: ProcedureIdentity, queue: String)
  /// Parts failed of something whose policy is to go on: of a graph, of the work on a collection, or of what a body has
  /// produced. All of them, in the order in which they failed; the error of the body itself comes last.
  case partsFailed(procedure: ProcedureIdentity, failures: [ProcedureFailure])
  /// The procedure would have waited for ever for a category or a resource: each one in `circle` waits for what the next
  /// one's run holds and cannot give back before it has got what it waits for itself. The body was not executed.
  case exclusionDeadlock(procedure: ProcedureIdentity, circle: [ExclusionWait])
  /// The procedure was produced by one that had ended already, so it could not be a part of it. It was not executed.
  case producerFinished(procedure: ProcedureIdentity, producer: ProcedureIdentity)
  /// As many procedures as the queue allows waited to be started already. This one was not admitted.
  case queueFull(procedure: ProcedureIdentity, queue: String, limit: Int)
  /// The procedure took longer than it was allowed to: `duration` from the start of its body, or from its coming until its
  /// deadline; zero where that had passed before. `hasStarted` is false where the deadline passed while the procedure waited,
  /// or before it came: then the body was not executed.
  case timedOut(procedure: ProcedureIdentity, duration: Duration, hasStarted: Bool)
  /// The circuit breaker `breaker` lets no calls through. It is worth while to ask again after `retryAfter`; `nil` where that
  /// depends on how a call ends that is under way.
  case circuitOpen(procedure: ProcedureIdentity, breaker: String, retryAfter: Duration?)
  /// The procedure would have had to wait for its rate limiter for too long; `nil` for ever.
  case rateExceeded(procedure: ProcedureIdentity, retryAfter: Duration?)
  /// The reason of the cancel of a procedure whose place on a full queue went to another one.
  case replaced(procedure: ProcedureIdentity, by: ProcedureIdentity)
  /// What the procedure was to authorize does not exist here; `underlying` is the ``CapabilityError``.
  case capabilityUnavailable(procedure: ProcedureIdentity, underlying: any Error)
  /// What the procedure was to authorize is not allowed as needed; `underlying` is the ``CapabilityError``.
  case capabilityUnauthorized(procedure: ProcedureIdentity, underlying: any Error)

  /// The case of an error without what it carries.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// See ``ProcedureError/conditionFailed(procedure:condition:underlying:)``.
    case conditionFailed
    /// See ``ProcedureError/ignored(procedure:by:)``.
    case ignored
    /// See ``ProcedureError/dependencyFailed(procedure:dependency:origin:underlying:)``.
    case dependencyFailed
    /// See ``ProcedureError/queueShutDown(procedure:queue:)``.
    case queueShutDown
    /// See ``ProcedureError/partsFailed(procedure:failures:)``.
    case partsFailed
    /// See ``ProcedureError/exclusionDeadlock(procedure:circle:)``.
    case exclusionDeadlock
    /// See ``ProcedureError/producerFinished(procedure:producer:)``.
    case producerFinished
    /// See ``ProcedureError/queueFull(procedure:queue:limit:)``.
    case queueFull
    /// See ``ProcedureError/replaced(procedure:by:)``.
    case replaced
    /// See ``ProcedureError/capabilityUnavailable(procedure:underlying:)``.
    case capabilityUnavailable
    /// See ``ProcedureError/capabilityUnauthorized(procedure:underlying:)``.
    case capabilityUnauthorized
    /// See ``ProcedureError/timedOut(procedure:duration:hasStarted:)``.
    case timedOut
    /// See ``ProcedureError/circuitOpen(procedure:breaker:retryAfter:)``.
    case circuitOpen
    /// See ``ProcedureError/rateExceeded(procedure:retryAfter:)``.
    case rateExceeded
  }

  /// The case of this error.
  public var kind: Kind {
    switch self {
    case .conditionFailed: .conditionFailed
    case .ignored: .ignored
    case .dependencyFailed: .dependencyFailed
    case .queueShutDown: .queueShutDown
    case .partsFailed: .partsFailed
    case .exclusionDeadlock: .exclusionDeadlock
    case .producerFinished: .producerFinished
    case .queueFull: .queueFull
    case .replaced: .replaced
    case .capabilityUnavailable: .capabilityUnavailable
    case .capabilityUnauthorized: .capabilityUnauthorized
    case .timedOut: .timedOut
    case .circuitOpen: .circuitOpen
    case .rateExceeded: .rateExceeded
    }
  }

  /// The run that the error is about.
  public var procedure: ProcedureIdentity {
    switch self {
    case .conditionFailed(let procedure, _, _), .ignored(let procedure, _), .dependencyFailed(let procedure, _, _, _),
      .queueShutDown(let procedure, _), .partsFailed(let procedure, _), .exclusionDeadlock(let procedure, _),
      .producerFinished(let procedure, _), .queueFull(let procedure, _, _), .replaced(let procedure, _),
      .capabilityUnavailable(let procedure, _), .capabilityUnauthorized(let procedure, _),
      .timedOut(let procedure, _, _),
      .circuitOpen(let procedure, _, _), .rateExceeded(let procedure, _):
      procedure
    }
  }

  /// The error of a procedure that depends on one that failed with `error`.
  ///
  /// A chain of dependents passes the first error on and does not wrap it again and again: a chain may be long.
  ///
  /// - Parameters:
  ///   - procedure: Whose error it is.
  ///   - dependency: What it depends on itself.
  ///   - origin: What failed with `error`; `nil` where that is the dependency.
  ///   - error: What it failed with.
  /// - Returns: The error.
  static func dependencyFailed(
    of procedure: ProcedureIdentity, _ dependency: ProcedureIdentity, origin: ProcedureIdentity? = nil,
    _ error: any Error
  ) -> ProcedureError {
    if case .dependencyFailed(_, _, let first, let root)? = error as? ProcedureError {
      return .dependencyFailed(procedure: procedure, dependency: dependency, origin: first, underlying: root)
    }
    return .dependencyFailed(
      procedure: procedure, dependency: dependency, origin: origin ?? dependency, underlying: error)
  }

  /// Where the failure of a dependency began, however many dependents lie between; `nil` for every other error.
  public var origin: ProcedureIdentity? {
    if case .dependencyFailed(_, _, let origin, _) = self { origin } else { nil }
  }

  /// The error behind this one; of several failed parts, the first one's; `nil` where the framework alone decided.
  public var underlying: (any Error)? {
    switch self {
    case .conditionFailed(_, _, let error), .dependencyFailed(_, _, _, let error), .capabilityUnavailable(_, let error),
      .capabilityUnauthorized(_, let error):
      error
    case .partsFailed(_, let failures): failures.first?.error
    case .ignored, .queueShutDown, .exclusionDeadlock, .producerFinished, .queueFull, .replaced, .timedOut,
      .circuitOpen,
      .rateExceeded:
      nil
    }
  }
}
