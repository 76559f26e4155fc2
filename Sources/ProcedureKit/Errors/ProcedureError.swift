/// An error that the library reports for a run. Errors that a body throws are passed on unchanged.
///
/// Every error has a ``kind-swift.property`` and identifies the ``procedure`` concerned. The other properties are details that apply only
/// to certain kinds, and are `nil` or empty for all others.
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
/// Future versions may add kinds, so a `switch` needs a `default`. The ``description`` states what happened and why, and the ``advice``
/// suggests what the developer can do. The details are available as properties of the error, for example `error.duration`.
@dynamicMemberLookup
public struct ProcedureError: Error, Sendable {
  /// The kind of a ``ProcedureError``.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind, such as `timedOut`.
    public let description: String

    private init(_ name: String) { description = name }

    /// A condition threw an error, or a negated condition was satisfied. The body was not executed.
    public static let conditionFailed = Kind("conditionFailed")
    /// A condition of the procedure, or of one of its dependencies, was not satisfied. The body was not executed, but the run does not count
    /// as failed. In `ProcedureKitPacing`, `debounced` and `throttled` throw such an error if a later run supersedes this one.
    public static let ignored = Kind("ignored")
    /// A dependency failed. The body was not executed.
    public static let dependencyFailed = Kind("dependencyFailed")
    /// The queue was shut down. The procedure was refused, or was cancelled when the grace period ended.
    public static let queueShutDown = Kind("queueShutDown")
    /// At least one node, element, child, or procedure in a scope failed under the policy ``FailurePolicy/collect``.
    ///
    /// An error of this kind is also thrown if too few of the procedures passed to ``ProcedureTask/first(_:of:)`` succeed.
    public static let childrenFailed = Kind("childrenFailed")
    /// The procedure would have waited forever.
    ///
    /// If the procedure was waiting for a resource, its body was not executed. Otherwise, its body was waiting for the procedure itself, or
    /// for another procedure that was in turn waiting for this one.
    public static let exclusionDeadlock = Kind("exclusionDeadlock")
    /// The procedure and another one declare the same ``Resource`` with different capacities. The body was not executed.
    public static let resourceConflict = Kind("resourceConflict")
    /// The procedure needs more units of a resource than exist, so it would have waited forever. The body, or the next attempt, was not
    /// executed.
    public static let capacityExceeded = Kind("capacityExceeded")
    /// The parent had already ended when the procedure was produced. The procedure was not executed.
    public static let producerFinished = Kind("producerFinished")
    /// The number of waiting procedures had reached the limit for the queue or for the key. The procedure was not admitted.
    public static let queueFull = Kind("queueFull")
    /// The run was cancelled because another run replaced it on a full queue.
    public static let replaced = Kind("replaced")
    /// A node of a graph, or a child of a body, failed under the policy ``FailurePolicy/failFast``. The other nodes or children are
    /// cancelled with this error as the reason.
    public static let stopped = Kind("stopped")
    /// The capability does not exist on this system, so it could not be authorized.
    public static let capabilityUnavailable = Kind("capabilityUnavailable")
    /// The app is not sufficiently authorized to use the capability.
    public static let capabilityUnauthorized = Kind("capabilityUnauthorized")
    /// The procedure exceeded its timeout or its deadline.
    public static let timedOut = Kind("timedOut")
    /// The circuit breaker is open. The body, or this attempt, was not executed.
    public static let circuitOpen = Kind("circuitOpen")
    /// The wait for the rate limiter would have exceeded the limiter's maximum wait. The body, or this attempt, was not executed.
    public static let rateExceeded = Kind("rateExceeded")
    /// The queue's interceptor returned without executing the body.
    public static let bodySkipped = Kind("bodySkipped")
    /// The last reference to the ``Promise`` was released before the promise was finished.
    public static let promiseReleased = Kind("promiseReleased")

    /// All kinds. `ProcedureKitRemote` uses this list to look up the kind of a transported error.
    package static let all: [Kind] = [
      conditionFailed, ignored, dependencyFailed, queueShutDown, childrenFailed, exclusionDeadlock, resourceConflict,
      capacityExceeded, producerFinished, queueFull, replaced, stopped, capabilityUnavailable, capabilityUnauthorized,
      timedOut, circuitOpen, rateExceeded, bodySkipped, promiseReleased,
    ]
  }

  /// The details of an error. A detail that does not apply to the kind is `nil`, or empty.
  public struct Details: Sendable {
    /// The error that caused this one, such as the error of the first child that failed; `nil` if no other error led to this one.
    public var underlying: (any Error)?
    /// The name of the condition, for ``Kind/conditionFailed`` and ``Kind/ignored``; `debounced` or `throttled` if the modifier of that name
    /// superseded the run.
    public var condition: String?
    /// The direct dependency that failed, for ``Kind/dependencyFailed``.
    public var dependency: ProcedureIdentity?
    /// The run that failed first.
    ///
    /// For ``Kind/dependencyFailed``, this is the run that originally failed, however long the chain of dependents is. For
    /// ``Kind/stopped``, it is the node or child that failed.
    public var origin: ProcedureIdentity?
    /// The name of the queue, for ``Kind/queueShutDown``, ``Kind/queueFull`` and ``Kind/bodySkipped``.
    public var queue: String?
    /// Whether the queue had admitted the procedure, for ``Kind/queueShutDown``. If the value is `true`, the procedure was cancelled; if it is
    /// `false`, the procedure was refused. The value is `nil` if this is unknown, as in the error of a worker process that uses an earlier
    /// version of the library.
    public var wasAdmitted: Bool?
    /// The failures of all children, in the order in which they occurred, for ``Kind/childrenFailed``; a failure of the body comes last.
    ///
    /// The array is empty for every other kind.
    public var failures: [ProcedureFailure] = []
    /// The waits that form the deadlock, for ``Kind/exclusionDeadlock``; empty for every other kind.
    ///
    /// In each wait, a procedure is waiting for a resource that the procedure in the next wait holds, or for that procedure to end.
    /// Therefore, no wait can end before the next one does. A wait by a part of a procedure, such as a child or a node, counts as a wait by
    /// the whole procedure.
    public var waits: [ExclusionWait] = []
    /// The name of the resource, for ``Kind/resourceConflict`` and ``Kind/capacityExceeded``.
    public var resource: String?
    /// The number of units that the procedure needs, for ``Kind/capacityExceeded``.
    public var units: Int?
    /// For ``Kind/resourceConflict``, the capacity that the procedure declares; for ``Kind/capacityExceeded``, the capacity of the
    /// resource.
    public var capacity: Int?
    /// The procedure that declares the same resource with a different capacity, for ``Kind/resourceConflict``.
    public var other: ProcedureIdentity?
    /// The capacity that ``other`` declares, for ``Kind/resourceConflict``.
    public var otherCapacity: Int?
    /// The parent, which had already ended, for ``Kind/producerFinished``.
    public var producer: ProcedureIdentity?
    /// The maximum number of procedures that can wait on the queue, or that can wait with the same ``key``, for ``Kind/queueFull``.
    public var limit: Int?
    /// The description of the key to which the limit applies, for ``Kind/queueFull``; `nil` if the limit applies to the whole queue.
    public var key: String?
    /// The run that replaced the procedure on the full queue, for ``Kind/replaced``.
    public var replacement: ProcedureIdentity?
    /// The time after which the procedure timed out, for ``Kind/timedOut``. A timeout is measured from the start of the body, and a
    /// deadline from the admission of the procedure.
    ///
    /// The value is zero if the deadline had passed before the procedure was added.
    public var duration: Duration?
    /// Whether the body had started when the procedure timed out, for ``Kind/timedOut``. If the value is `false`, the deadline passed
    /// first, and the body was not executed.
    public var hasStarted: Bool?
    /// The name of the circuit breaker, for ``Kind/circuitOpen``.
    public var breaker: String?
    /// The time until a call can be admitted, for ``Kind/circuitOpen`` and ``Kind/rateExceeded``.
    ///
    /// The value is `nil` if the circuit breaker was waiting for a probe to end, or if the rate limiter would never have admitted the call.
    public var retryAfter: Duration?
  }

  /// The content of an error. It is stored behind a single reference, because errors are copied often.
  private indirect enum Content {
    case of(kind: Kind, procedure: ProcedureIdentity, details: Details)

    var all: (kind: Kind, procedure: ProcedureIdentity, details: Details) {
      switch self {
      case .of(let kind, let procedure, let details): (kind, procedure, details)
      }
    }
  }

  private let content: Content

  /// Creates an error for use in tests and in code that stands in for a queue.
  ///
  /// - Parameters:
  ///   - kind: The kind of the error.
  ///   - procedure: The run that the error concerns.
  ///   - set: A function that sets the details.
  public init(_ kind: Kind, procedure: ProcedureIdentity, _ set: (inout Details) -> Void = { _ in }) {
    var details = Details()
    set(&details)
    content = .of(kind: kind, procedure: procedure, details: details)
  }

  /// The kind of error.
  public var kind: Kind { content.all.kind }

  /// The run that the error concerns.
  public var procedure: ProcedureIdentity { content.all.procedure }

  /// Returns a detail of the error.
  public subscript<Detail>(dynamicMember detail: KeyPath<Details, Detail>) -> Detail {
    content.all.details[keyPath: detail]
  }
}

// MARK: - Making errors of the kinds that several functions report

extension ProcedureError {
  package static func ignored(procedure: ProcedureIdentity, by condition: String) -> ProcedureError {
    ProcedureError(.ignored, procedure: procedure) { $0.condition = condition }
  }

  /// Returns the error for a dependent of a run that failed with `error`.
  ///
  /// A chain of dependents reports the first error, which is not wrapped again at each step.
  ///
  /// - Parameters:
  ///   - procedure: The dependent.
  ///   - dependency: The direct dependency.
  ///   - origin: The run that failed with `error`; `nil` if that run is `dependency`.
  ///   - error: The error of `origin`.
  /// - Returns: An error of kind ``Kind/dependencyFailed``.
  package static func dependencyFailed(
    of procedure: ProcedureIdentity, _ dependency: ProcedureIdentity, origin: ProcedureIdentity? = nil,
    _ error: any Error
  ) -> ProcedureError {
    var (first, root) = (origin ?? dependency, error)
    if let error = error as? ProcedureError, error.kind == .dependencyFailed, let origin = error.origin,
      let underlying = error.underlying
    {
      (first, root) = (origin, underlying)
    }
    return ProcedureError(.dependencyFailed, procedure: procedure) {
      ($0.dependency, $0.origin, $0.underlying) = (dependency, first, root)
    }
  }
  package static func queueShutDown(
    procedure: ProcedureIdentity, queue: String, wasAdmitted: Bool
  ) -> ProcedureError {
    ProcedureError(.queueShutDown, procedure: procedure) { ($0.queue, $0.wasAdmitted) = (queue, wasAdmitted) }
  }
  package static func childrenFailed(procedure: ProcedureIdentity, failures: [ProcedureFailure]) -> ProcedureError {
    ProcedureError(.childrenFailed, procedure: procedure) {
      ($0.failures, $0.underlying) = (failures, failures.first?.error)
    }
  }
  package static func exclusionDeadlock(procedure: ProcedureIdentity, waits: [ExclusionWait]) -> ProcedureError {
    ProcedureError(.exclusionDeadlock, procedure: procedure) { $0.waits = waits }
  }
  package static func resourceConflict(
    procedure: ProcedureIdentity, resource: String, capacity: Int, other: ProcedureIdentity, otherCapacity: Int
  ) -> ProcedureError {
    ProcedureError(.resourceConflict, procedure: procedure) {
      ($0.resource, $0.capacity, $0.other, $0.otherCapacity) = (resource, capacity, other, otherCapacity)
    }
  }
  package static func capacityExceeded(
    procedure: ProcedureIdentity, resource: String, units: Int, capacity: Int
  ) -> ProcedureError {
    ProcedureError(.capacityExceeded, procedure: procedure) {
      ($0.resource, $0.units, $0.capacity) = (resource, units, capacity)
    }
  }
  package static func queueFull(
    procedure: ProcedureIdentity, queue: String, limit: Int, key: String? = nil
  ) -> ProcedureError {
    ProcedureError(.queueFull, procedure: procedure) { ($0.queue, $0.limit, $0.key) = (queue, limit, key) }
  }
  package static func timedOut(procedure: ProcedureIdentity, duration: Duration, hasStarted: Bool) -> ProcedureError {
    ProcedureError(.timedOut, procedure: procedure) { ($0.duration, $0.hasStarted) = (duration, hasStarted) }
  }
}

extension Error where Self == ProcedureError {
  /// Returns the reason for cancelling the children of `procedure` after `failure`, which is the first failure among them.
  static func stopped(_ procedure: ProcedureIdentity, by failure: ProcedureFailure) -> ProcedureError {
    ProcedureError(.stopped, procedure: procedure) { ($0.origin, $0.underlying) = (failure.procedure, failure.error) }
  }
}

extension ProcedureError: CustomStringConvertible, CustomDebugStringConvertible {
  /// A statement that says which procedure failed or was not executed, and why. It does not include the ``advice``.
  public var description: String {
    let statement = statement(naming: \.description) { "\($0)" }
    return statement.event + (statement.reason.map { ": \($0)" } ?? "")
  }

  /// The ``description``, followed by the ``advice``, for debuggers and failed tests.
  public var debugDescription: String {
    description + (advice.map { ". \($0)." } ?? "")
  }

  /// A suggestion for how to fix the problem; `nil` if there is nothing to change in the code.
  public var advice: String? {
    switch kind {
    case .dependencyFailed:
      "To execute the procedure regardless of the dependency's outcome, call catchingErrors() on the dependency"
    case .queueShutDown:
      switch self.wasAdmitted {
      case true?: "Pass a longer grace period to shutDown(grace:)"
      case false?: "Add procedures before calling shutDown(grace:)"
      case nil: "Add procedures before calling shutDown(grace:), and pass it a grace period that is long enough"
      }
    case .exclusionDeadlock where !self.waits.contains(where: \.isForResource):
      "A procedure must not await itself, or a procedure that is waiting for it"
    case .exclusionDeadlock where self.waits.count(where: \.isForResource) == 1:
      """
      A procedure can use the resources that its caller holds if the caller runs or produces it, but not if the caller adds it to a \
      queue or requests its value by key
      """
    case .exclusionDeadlock: "Have all of the procedures claim their resources together, or in the same order"
    case .resourceConflict: "Declare the resource once, and change its capacity with setCapacity(_:of:) on its table"
    case .producerFinished: "Produce the procedure before the body of the parent returns, or add it to a queue"
    case .queueFull: "To wait for room in the queue, use enqueue"
    case .timedOut where self.hasStarted == false:
      "Give the procedure a later deadline, or use a timeout, which starts only when the procedure gets its slot"
    case .bodySkipped: "Make sure that the interceptor calls next() or throws an error"
    case .promiseReleased: "Keep a reference to the promise until the callback that finishes it is called"
    default: nil
    }
  }

  /// Returns a statement of what happened to the procedure, and the reason, if one is known.
  ///
  /// - Parameters:
  ///   - name: A function that returns the description of a run.
  ///   - words: A function that returns the description of an error.
  /// - Returns: The statement.
  package func statement(
    naming name: (ProcedureIdentity) -> String, _ words: (any Error) -> String
  ) -> (event: String, reason: String?) {
    let subject = name(procedure)
    let queue = "the queue \((self.queue ?? "").quoted)"
    let cause = self.underlying.map(words)
    switch kind {
    case .timedOut where self.hasStarted == true:
      return ("\(subject) timed out after \((self.duration ?? .zero).inWords)", nil)
    case .childrenFailed:
      let failures = self.failures.map { failure in
        let (name, error) = (name(failure.procedure), words(failure.error))
        return error.hasPrefix(name) ? error : "\(name): \(error)"  // most errors of the library begin with the name
      }
      return (
        "\(failures.count.counting("child", "children")) of \(subject) failed",
        failures.joined(separator: "; ")
      )
    case .queueFull:
      let (reason, each) = self.key.map { (" for the key \("\($0)".quoted)", " with the same key") } ?? ("", "")
      return (
        "\(subject) was not admitted",
        "\(queue) is full\(reason) because at most \((self.limit ?? 0).counting("procedure"))\(each) can wait on it"
      )
    case .stopped:
      let culprit = self.origin?.id == procedure.id ? "it" : self.origin.map(name) ?? "a child"
      return ("\(subject) was stopped", "\(culprit) failed: \(cause ?? "")")
    case .queueShutDown:
      let event = self.wasAdmitted.map { $0 ? "cancelled" : "refused" } ?? "refused or cancelled"
      return ("\(subject) was \(event)", reason(naming: name, cause))
    case .exclusionDeadlock where !(self.waits.first?.isForResource ?? true):
      return ("\(subject) failed", reason(naming: name, cause))
    // The body may have been executed before, for example by an earlier attempt of a retry.
    case .circuitOpen, .rateExceeded, .capacityExceeded: return ("\(subject) failed", reason(naming: name, cause))
    case .capabilityUnavailable, .capabilityUnauthorized: return ("\(subject) failed", cause)
    case .promiseReleased: return ("\(subject) failed", "its promise was released without being finished")
    default: return ("\(subject) was not executed", reason(naming: name, cause))
    }
  }

  /// Returns the reason the procedure failed or was not executed.
  private func reason(naming name: (ProcedureIdentity) -> String, _ cause: String?) -> String? {
    func named(_ procedure: ProcedureIdentity?) -> String { procedure.map(name) ?? "another procedure" }
    let queue = "the queue \((self.queue ?? "").quoted)"
    switch kind {
    case .conditionFailed: return "its condition \((self.condition ?? "").quoted) failed: \(cause ?? "")"
    case .ignored:
      let condition = (self.condition ?? "").quoted
      return "it was ignored by \(condition), which is a condition or a modifier of the procedure or of a dependency"
    case .dependencyFailed:
      let chain = self.origin?.id == self.dependency?.id ? "" : " because \(named(self.origin)) did"
      return "it depends on \(named(self.dependency)), which failed\(chain): \(cause ?? "")"
    case .queueShutDown: return "\(queue) was shut down"
    case .exclusionDeadlock:
      let waits = self.waits.map { $0.description(naming: name) }
      let isOpen = self.waits.count == 1 && self.waits[0].isForResource
      return "it would have waited forever: " + waits.joined(separator: "; ")
        + (isOpen ? ", and the holder is in turn waiting for \(name(procedure))" : "")
    case .resourceConflict:
      return
        "it declares the resource \((self.resource ?? "").quoted) with a capacity of \(self.capacity ?? 0), but "
        + "\(named(self.other)) declares it with a capacity of \(self.otherCapacity ?? 0)"
    case .capacityExceeded:
      return
        "it needs \((self.units ?? 0).counting("unit")) of the resource \((self.resource ?? "").quoted), "
        + "which has only \(self.capacity ?? 0)"
    case .producerFinished: return "its parent \(named(self.producer)) had already finished"
    case .timedOut:
      let time = self.duration ?? .zero
      return time > .zero
        ? "it had not started by its deadline, \(time.inWords) after it was added"
        : "its deadline had passed before it was added"
    case .circuitOpen:
      return "its circuit breaker \((self.breaker ?? "").quoted) is open because too many calls have failed"
        + (self.retryAfter.map { "; the next call is allowed in \($0.inWords)" }
          ?? "; a call that tests the service is in progress")
    case .rateExceeded:
      return "its rate limiter "
        + (self.retryAfter.map { "would admit it only after \($0.inWords)" } ?? "admits no further calls")
    case .bodySkipped: return "the interceptor of \(queue) returned without calling next()"
    case .replaced: return "\(named(self.replacement)) replaced it on the full queue"
    default: return cause
    }
  }
}
