/// An error that the framework raises for a run. Errors that a body throws are passed on unchanged.
///
/// Every case names the run concerned. Two errors can be compared by ``kind-swift.property``.
public enum ProcedureError: Error, Sendable {
  /// A condition threw, or a negated condition was satisfied. The body was not executed.
  case conditionFailed(procedure: ProcedureIdentity, condition: String, underlying: any Error)
  /// A condition was not satisfied. The body was not executed, which does not count as a failure.
  case ignored(procedure: ProcedureIdentity, by: String)
  /// A dependency failed. The body was not executed. `dependency` is the direct dependency; `origin` is the run in
  /// which the failure began, and `underlying` is the error of `origin`, however long the chain between is.
  case dependencyFailed(
    procedure: ProcedureIdentity, dependency: ProcedureIdentity, origin: ProcedureIdentity, underlying: any Error)
  /// The queue had been shut down before the procedure was added. The body was not executed.
  case queueShutDown(procedure: ProcedureIdentity, queue: String)
  /// Nodes of a graph, elements of a collection, or children of a body failed under the policy
  /// ``ErrorPolicy/continue``. `failures` has all errors in the order of failing; the error of the body comes last.
  case partsFailed(procedure: ProcedureIdentity, failures: [ProcedureFailure])
  /// The procedure would have waited forever for a category or a resource. The body was not executed. Each wait in
  /// `circle` is for a resource of the next wait's run, which cannot release the resource before its own wait ends.
  case exclusionDeadlock(procedure: ProcedureIdentity, circle: [ExclusionWait])
  /// The producing run `producer` had ended already. The child was not executed.
  case producerFinished(procedure: ProcedureIdentity, producer: ProcedureIdentity)
  /// The queue already has `limit` waiting procedures. The procedure was not admitted.
  case queueFull(procedure: ProcedureIdentity, queue: String, limit: Int)
  /// The procedure exceeded its timeout or its deadline. `duration` is the time since the start of the body, or, for a
  /// deadline, since the procedure was admitted; a deadline in the past gives zero. `hasStarted` is `false` if the
  /// deadline passed before the body started; the body was then not executed.
  case timedOut(procedure: ProcedureIdentity, duration: Duration, hasStarted: Bool)
  /// The circuit breaker `breaker` is open. Another call has a chance after `retryAfter`, which is `nil` while a probe
  /// is under way.
  case circuitOpen(procedure: ProcedureIdentity, breaker: String, retryAfter: Duration?)
  /// The wait for the rate limiter would have exceeded the limiter's longest wait. `retryAfter` is the time until a
  /// call would go through, or `nil` for never.
  case rateExceeded(procedure: ProcedureIdentity, retryAfter: Duration?)
  /// The interceptor of the queue returned without executing the body.
  case bodySkipped(procedure: ProcedureIdentity, queue: String)
  /// The reason of cancelling a run that the run `by` has replaced on a full queue.
  case replaced(procedure: ProcedureIdentity, by: ProcedureIdentity)
  /// The capability to be authorized does not exist on this system. `underlying` is the ``CapabilityError``.
  case capabilityUnavailable(procedure: ProcedureIdentity, underlying: any Error)
  /// The capability to be authorized is not allowed as required. `underlying` is the ``CapabilityError``.
  case capabilityUnauthorized(procedure: ProcedureIdentity, underlying: any Error)

  /// The case of an error without the associated values.
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
    /// See ``ProcedureError/bodySkipped(procedure:queue:)``.
    case bodySkipped
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
    case .bodySkipped: .bodySkipped
    }
  }

  /// The run concerned.
  public var procedure: ProcedureIdentity {
    switch self {
    case .conditionFailed(let procedure, _, _), .ignored(let procedure, _), .dependencyFailed(let procedure, _, _, _),
      .queueShutDown(let procedure, _), .partsFailed(let procedure, _), .exclusionDeadlock(let procedure, _),
      .producerFinished(let procedure, _), .queueFull(let procedure, _, _), .replaced(let procedure, _),
      .capabilityUnavailable(let procedure, _), .capabilityUnauthorized(let procedure, _),
      .timedOut(let procedure, _, _),
      .circuitOpen(let procedure, _, _), .rateExceeded(let procedure, _), .bodySkipped(let procedure, _):
      procedure
    }
  }

  /// Returns the error of a dependent of a run that failed with `error`.
  ///
  /// A chain of dependents passes the first error on without wrapping it at each step.
  ///
  /// - Parameters:
  ///   - procedure: The dependent.
  ///   - dependency: The direct dependency.
  ///   - origin: The run that failed with `error`; `nil` for the dependency.
  ///   - error: The error of `origin`.
  /// - Returns: An error of the kind ``Kind/dependencyFailed``.
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

  /// The run in which the failure of a dependency began, however long the chain of dependents is; `nil` for every other
  /// error.
  public var origin: ProcedureIdentity? {
    if case .dependencyFailed(_, _, let origin, _) = self { origin } else { nil }
  }

  /// The error behind this error: the cause, or the error of the first failed part; `nil` if the framework alone
  /// decided.
  public var underlying: (any Error)? {
    switch self {
    case .conditionFailed(_, _, let error), .dependencyFailed(_, _, _, let error), .capabilityUnavailable(_, let error),
      .capabilityUnauthorized(_, let error):
      error
    case .partsFailed(_, let failures): failures.first?.error
    case .ignored, .queueShutDown, .exclusionDeadlock, .producerFinished, .queueFull, .replaced, .timedOut,
      .circuitOpen,
      .rateExceeded, .bodySkipped:
      nil
    }
  }
}
