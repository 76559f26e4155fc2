/// An error that the framework raises for a run. Errors that a body throws are passed on unchanged.
///
/// Every error has a ``kind-swift.property`` and names the ``procedure`` concerned. The other properties are the details,
/// which are `nil` for the kinds that have none.
///
/// ```swift
/// do {
///   try await queue.run(upload)
/// } catch let error as ProcedureError {
///   switch error.kind {
///   case .timedOut: retryLater()
///   case .circuitOpen, .rateExceeded: retryLater(after: error.retryAfter)
///   default: throw error
///   }
/// }
/// ```
///
/// Later versions can add kinds, so a `switch` has a `default`. The ``description`` says what happened and why, and the
/// ``advice`` says what the programmer can do. The functions such as ``timedOut(procedure:duration:hasStarted:)`` make an
/// error, for tests and for code that stands in for a queue.
public struct ProcedureError: Error, Sendable {
  /// The kind of a ``ProcedureError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind: `timedOut`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A condition threw, or a negated condition was satisfied. The body was not executed.
    public static let conditionFailed = Kind("conditionFailed")
    /// A condition was not satisfied. The body was not executed, which does not count as a failure.
    public static let ignored = Kind("ignored")
    /// A dependency failed. The body was not executed.
    public static let dependencyFailed = Kind("dependencyFailed")
    /// The queue had been shut down before the procedure was added. The body was not executed.
    public static let queueShutDown = Kind("queueShutDown")
    /// Nodes of a graph, elements of a collection, or children of a body failed under the policy
    /// ``ErrorPolicy/continue``.
    public static let partsFailed = Kind("partsFailed")
    /// The procedure would have waited forever for a category or a resource. The body was not executed.
    public static let exclusionDeadlock = Kind("exclusionDeadlock")
    /// The procedure and another one declare a ``Resource`` with different capacities. The body was not executed.
    public static let resourceConflict = Kind("resourceConflict")
    /// The procedure needs more units of a resource than there are, and would have waited forever. The body was not executed.
    public static let capacityExceeded = Kind("capacityExceeded")
    /// The producing run had ended already. The child was not executed.
    public static let producerFinished = Kind("producerFinished")
    /// The queue already has as many waiting procedures, in all or of the key, as its limit allows. The procedure was not admitted.
    public static let queueFull = Kind("queueFull")
    /// The reason of cancelling a run that another run has replaced on a full queue.
    public static let replaced = Kind("replaced")
    /// The reason of cancelling the other nodes of a graph, or the other children of a body, when one has failed under the
    /// policy ``ErrorPolicy/failFast``.
    public static let stopped = Kind("stopped")
    /// The capability to be authorized does not exist on this system.
    public static let capabilityUnavailable = Kind("capabilityUnavailable")
    /// The capability to be authorized is not allowed as required.
    public static let capabilityUnauthorized = Kind("capabilityUnauthorized")
    /// The procedure exceeded its timeout or its deadline.
    public static let timedOut = Kind("timedOut")
    /// The circuit breaker is open. The body was not executed.
    public static let circuitOpen = Kind("circuitOpen")
    /// The wait for the rate limiter would have exceeded the limiter's longest wait. The body was not executed.
    public static let rateExceeded = Kind("rateExceeded")
    /// The interceptor of the queue returned without executing the body.
    public static let bodySkipped = Kind("bodySkipped")
  }

  /// The details are behind one reference, since errors are passed through many hands.
  private indirect enum Content {
    case of(Details)
  }

  private struct Details {
    let kind: Kind
    let procedure: ProcedureIdentity
    var underlying: (any Error)?
    var condition: String?
    var dependency: ProcedureIdentity?
    var origin: ProcedureIdentity?
    var queue: String?
    var failures: [ProcedureFailure] = []
    var waits: [ExclusionWait] = []
    var resource: String?
    var units: Int?
    var capacity: Int?
    var other: ProcedureIdentity?
    var otherCapacity: Int?
    var producer: ProcedureIdentity?
    var limit: Int?
    var key: String?
    var replacement: ProcedureIdentity?
    var duration: Duration?
    var hasStarted: Bool?
    var breaker: String?
    var retryAfter: Duration?
  }

  private let content: Content

  private var details: Details {
    switch content {
    case .of(let details): details
    }
  }

  private init(_ kind: Kind, _ procedure: ProcedureIdentity, _ set: (inout Details) -> Void) {
    var details = Details(kind: kind, procedure: procedure)
    set(&details)
    content = .of(details)
  }
}

// MARK: - The properties

extension ProcedureError {
  /// The kind of the error.
  public var kind: Kind { details.kind }

  /// The run concerned.
  public var procedure: ProcedureIdentity { details.procedure }

  /// The error behind this error: the cause, or the error of the first failed part; `nil` if the framework alone
  /// decided.
  public var underlying: (any Error)? { details.underlying }

  /// The run in which a failure began: of ``Kind/dependencyFailed``, however long the chain of dependents is; of
  /// ``Kind/stopped``, the part that failed first.
  public var origin: ProcedureIdentity? { details.origin }

  /// The direct dependency that failed, of ``Kind/dependencyFailed``.
  public var dependency: ProcedureIdentity? { details.dependency }

  /// The name of the condition, of ``Kind/conditionFailed`` and ``Kind/ignored``.
  public var condition: String? { details.condition }

  /// The name of the queue, of ``Kind/queueShutDown``, ``Kind/queueFull`` and ``Kind/bodySkipped``.
  public var queue: String? { details.queue }

  /// How many procedures may wait on the queue, of ``Kind/queueFull``.
  public var limit: Int? { details.limit }

  /// The description of the key that the limit is for, of ``Kind/queueFull``; `nil` if the limit is for the whole queue.
  public var key: String? { details.key }

  /// The name of the resource, of ``Kind/resourceConflict`` and ``Kind/capacityExceeded``.
  public var resource: String? { details.resource }

  /// How many units the procedure needs, of ``Kind/capacityExceeded``.
  public var units: Int? { details.units }

  /// The capacity that the procedure declares, of ``Kind/resourceConflict``, or that the resource has, of ``Kind/capacityExceeded``.
  public var capacity: Int? { details.capacity }

  /// The procedure with the other declaration, of ``Kind/resourceConflict``.
  public var other: ProcedureIdentity? { details.other }

  /// The capacity that ``other`` declares, of ``Kind/resourceConflict``.
  public var otherCapacity: Int? { details.otherCapacity }

  /// The errors of all parts in the order of failing, of ``Kind/partsFailed``; the error of the body comes last. Empty for
  /// every other kind.
  public var failures: [ProcedureFailure] { details.failures }

  /// The waits of a deadlock, of ``Kind/exclusionDeadlock``; empty for every other kind. Each wait is for a resource of the
  /// next wait's run, which cannot release the resource before its own wait ends.
  public var waits: [ExclusionWait] { details.waits }

  /// The run that was to produce the child, of ``Kind/producerFinished``.
  public var producer: ProcedureIdentity? { details.producer }

  /// The run that has taken the place on the full queue, of ``Kind/replaced``.
  public var replacement: ProcedureIdentity? { details.replacement }

  /// The time until a ``Kind/timedOut``: since the start of the body, or, for a deadline, since the procedure was admitted.
  /// Zero for a deadline in the past.
  public var duration: Duration? { details.duration }

  /// Whether the body had started, of ``Kind/timedOut``. `false` if the deadline passed before; the body was then not
  /// executed.
  public var hasStarted: Bool? { details.hasStarted }

  /// The name of the circuit breaker, of ``Kind/circuitOpen``.
  public var breaker: String? { details.breaker }

  /// The time until a call has a chance, of ``Kind/circuitOpen`` and ``Kind/rateExceeded``. `nil` while a probe of the circuit
  /// breaker is under way, or if the rate limiter would never let the call through.
  public var retryAfter: Duration? { details.retryAfter }
}

// MARK: - Making errors

extension ProcedureError {
  /// Makes an error of the kind ``Kind/conditionFailed``. `underlying` is the error of the condition.
  public static func conditionFailed(
    procedure: ProcedureIdentity, condition: String, underlying: any Error
  ) -> ProcedureError {
    ProcedureError(.conditionFailed, procedure) { ($0.condition, $0.underlying) = (condition, underlying) }
  }

  /// Makes an error of the kind ``Kind/ignored``. `condition` is the name of the condition.
  public static func ignored(procedure: ProcedureIdentity, by condition: String) -> ProcedureError {
    ProcedureError(.ignored, procedure) { $0.condition = condition }
  }

  /// Makes an error of the kind ``Kind/dependencyFailed``.
  ///
  /// - Parameters:
  ///   - procedure: The dependent.
  ///   - dependency: The direct dependency.
  ///   - origin: The run in which the failure began.
  ///   - underlying: The error of `origin`.
  /// - Returns: The error.
  public static func dependencyFailed(
    procedure: ProcedureIdentity, dependency: ProcedureIdentity, origin: ProcedureIdentity, underlying: any Error
  ) -> ProcedureError {
    ProcedureError(.dependencyFailed, procedure) {
      ($0.dependency, $0.origin, $0.underlying) = (dependency, origin, underlying)
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
    if let error = error as? ProcedureError, error.kind == .dependencyFailed, let first = error.origin,
      let root = error.underlying
    {
      return .dependencyFailed(procedure: procedure, dependency: dependency, origin: first, underlying: root)
    }
    return .dependencyFailed(
      procedure: procedure, dependency: dependency, origin: origin ?? dependency, underlying: error)
  }

  /// Makes an error of the kind ``Kind/queueShutDown``. `queue` is the name of the queue.
  public static func queueShutDown(procedure: ProcedureIdentity, queue: String) -> ProcedureError {
    ProcedureError(.queueShutDown, procedure) { $0.queue = queue }
  }

  /// Makes an error of the kind ``Kind/partsFailed`` with the errors of all parts.
  public static func partsFailed(procedure: ProcedureIdentity, failures: [ProcedureFailure]) -> ProcedureError {
    ProcedureError(.partsFailed, procedure) { ($0.failures, $0.underlying) = (failures, failures.first?.error) }
  }

  /// Makes an error of the kind ``Kind/exclusionDeadlock`` with the waits of the deadlock.
  public static func exclusionDeadlock(procedure: ProcedureIdentity, waits: [ExclusionWait]) -> ProcedureError {
    ProcedureError(.exclusionDeadlock, procedure) { $0.waits = waits }
  }

  /// Makes an error of the kind ``Kind/resourceConflict``.
  ///
  /// - Parameters:
  ///   - procedure: The procedure that was not executed.
  ///   - resource: The name of the resource.
  ///   - capacity: The capacity that `procedure` declares.
  ///   - other: The procedure that holds the resource or waits for it.
  ///   - otherCapacity: The capacity that `other` declares.
  /// - Returns: The error.
  public static func resourceConflict(
    procedure: ProcedureIdentity, resource: String, capacity: Int, other: ProcedureIdentity, otherCapacity: Int
  ) -> ProcedureError {
    ProcedureError(.resourceConflict, procedure) {
      ($0.resource, $0.capacity, $0.other, $0.otherCapacity) = (resource, capacity, other, otherCapacity)
    }
  }

  /// Makes an error of the kind ``Kind/capacityExceeded``. The procedure needs `units` of a resource that has `capacity`.
  public static func capacityExceeded(
    procedure: ProcedureIdentity, resource: String, units: Int, capacity: Int
  ) -> ProcedureError {
    ProcedureError(.capacityExceeded, procedure) {
      ($0.resource, $0.units, $0.capacity) = (resource, units, capacity)
    }
  }

  /// Makes an error of the kind ``Kind/producerFinished``. `producer` is the run that was to produce the child `procedure`.
  public static func producerFinished(procedure: ProcedureIdentity, producer: ProcedureIdentity) -> ProcedureError {
    ProcedureError(.producerFinished, procedure) { $0.producer = producer }
  }

  /// Makes an error of the kind ``Kind/queueFull``. `limit` is the number of procedures that may wait on the queue.
  /// If `key` is not `nil`, the limit is that of the key with this description.
  public static func queueFull(
    procedure: ProcedureIdentity, queue: String, limit: Int, key: String? = nil
  ) -> ProcedureError {
    ProcedureError(.queueFull, procedure) { ($0.queue, $0.limit, $0.key) = (queue, limit, key) }
  }

  /// Makes an error of the kind ``Kind/replaced``. `replacement` is the run that has taken the place of `procedure`.
  public static func replaced(procedure: ProcedureIdentity, by replacement: ProcedureIdentity) -> ProcedureError {
    ProcedureError(.replaced, procedure) { $0.replacement = replacement }
  }

  /// Makes an error of the kind ``Kind/stopped``.
  ///
  /// - Parameters:
  ///   - procedure: The graph, or the body with children.
  ///   - origin: The node or the child that failed first, or the body itself.
  ///   - underlying: The error of `origin`.
  /// - Returns: The error.
  public static func stopped(
    procedure: ProcedureIdentity, origin: ProcedureIdentity, underlying: any Error
  ) -> ProcedureError {
    ProcedureError(.stopped, procedure) { ($0.origin, $0.underlying) = (origin, underlying) }
  }

  /// Makes an error of the kind ``Kind/capabilityUnavailable``. `underlying` is the ``CapabilityError``.
  public static func capabilityUnavailable(procedure: ProcedureIdentity, underlying: any Error) -> ProcedureError {
    ProcedureError(.capabilityUnavailable, procedure) { $0.underlying = underlying }
  }

  /// Makes an error of the kind ``Kind/capabilityUnauthorized``. `underlying` is the ``CapabilityError``.
  public static func capabilityUnauthorized(procedure: ProcedureIdentity, underlying: any Error) -> ProcedureError {
    ProcedureError(.capabilityUnauthorized, procedure) { $0.underlying = underlying }
  }

  /// Makes an error of the kind ``Kind/timedOut``.
  ///
  /// - Parameters:
  ///   - procedure: The run that exceeded its timeout or its deadline.
  ///   - duration: The time until then; see ``duration``.
  ///   - hasStarted: Whether the body had started.
  /// - Returns: The error.
  public static func timedOut(procedure: ProcedureIdentity, duration: Duration, hasStarted: Bool) -> ProcedureError {
    ProcedureError(.timedOut, procedure) { ($0.duration, $0.hasStarted) = (duration, hasStarted) }
  }

  /// Makes an error of the kind ``Kind/circuitOpen``. `retryAfter` is `nil` while a probe is under way.
  public static func circuitOpen(
    procedure: ProcedureIdentity, breaker: String, retryAfter: Duration?
  ) -> ProcedureError {
    ProcedureError(.circuitOpen, procedure) { ($0.breaker, $0.retryAfter) = (breaker, retryAfter) }
  }

  /// Makes an error of the kind ``Kind/rateExceeded``. `retryAfter` is `nil` for never.
  public static func rateExceeded(procedure: ProcedureIdentity, retryAfter: Duration?) -> ProcedureError {
    ProcedureError(.rateExceeded, procedure) { $0.retryAfter = retryAfter }
  }

  /// Makes an error of the kind ``Kind/bodySkipped``. `queue` is the name of the queue.
  public static func bodySkipped(procedure: ProcedureIdentity, queue: String) -> ProcedureError {
    ProcedureError(.bodySkipped, procedure) { $0.queue = queue }
  }
}

extension Error where Self == ProcedureError {
  /// Makes the reason of cancelling the parts of `procedure`, one of which has failed first.
  static func stopped(_ procedure: ProcedureIdentity, by failure: ProcedureFailure) -> ProcedureError {
    .stopped(procedure: procedure, origin: failure.procedure, underlying: failure.error)
  }
}
