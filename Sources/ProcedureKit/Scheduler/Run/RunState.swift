/// The state of a run, which the lock of its queue guards; see `RunTable`.
struct RunState: ~Copyable, Sendable {
  /// The place in the machine; -1 before the run is admitted, and after it has ended.
  var member: MemberID = -1
  /// Whether the outcome is decided, so that a cancellation comes too late.
  var isDecided = false
  /// Whether the body has been called.
  var hasStarted = false
  /// The worker that executes the body, which a cancellation of the run cancels.
  var worker: Worker?
  /// The task that executes the body, while a cancellation of that task cancels the run; `nil` for a task of a worker.
  var watchedTask: TaskIdentity?
  var body: Run.Body?
  /// The conditions and hooks, until the run has ended.
  var closures: ModifierLayer.Closures?
  /// The instants of the first events, in nanoseconds; -1 for those that have not occurred.
  var attached: Int64 = -1
  var started: Int64 = -1
  var ended: Int64 = -1
  /// The instant of the latest event.
  private var latest: Int64 = -1
  private var storedDetails: DetailsStorage?
  private var storedMetrics: MetricsStorage?

  /// The details as an object, since few runs have any.
  private final class DetailsStorage: @unchecked Sendable {
    // Invariant: only the run's state refers to the object, and the lock of the queue guards the state.
    @exclusivity(unchecked) var value = RunDetails()
  }

  private final class MetricsStorage: Sendable {
    let value: ProcedureMetrics

    init(_ value: ProcedureMetrics) { self.value = value }
  }

  init(body: Run.Body?, closures: ModifierLayer.Closures?) { (self.body, self.closures) = (body, closures) }

  /// The details, which most runs do not have: reading them costs no memory, and the first change makes them.
  var details: RunDetails {
    @inline(__always) _read { if let storedDetails { yield storedDetails.value } else { yield RunDetails.none } }
    @inline(__always) _modify {
      let storage = storedDetails ?? DetailsStorage()
      storedDetails = storage
      yield &storage.value
    }
  }

  var hasDetails: Bool { storedDetails != nil }

  /// Changes the details if there are any, and makes none.
  @discardableResult @inline(__always)
  mutating func changeDetails<R>(_ change: (inout RunDetails) -> R) -> R? {
    if let storedDetails { change(&storedDetails.value) } else { nil }
  }

  /// Whether the events of the run are kept in a log.
  var hasLog: Bool { storedDetails?.value.observers.log != nil }

  /// How many of the first events, `didAttach`, `willExecute` and `didExecute`, have occurred.
  var pastEventCount: Int {
    (attached >= 0 ? 1 : 0) + (started >= 0 ? 1 : 0) + (started >= 0 && ended >= 0 ? 1 : 0)
  }

  /// The metrics of a run that has ended and was measured, if they are kept.
  var metrics: ProcedureMetrics? {
    get { storedMetrics?.value }
    set { storedMetrics = newValue.map(MetricsStorage.init) }
  }

  /// Returns the instant of an event of the run: never before that of an earlier event (L2).
  mutating func stamp(_ instant: ProcedureInstant) -> ProcedureInstant {
    latest = max(latest, instant.nanoseconds)
    return ProcedureInstant(nanoseconds: latest)
  }

  /// The run is attached to its queue.
  mutating func attach(at instant: ProcedureInstant) { attached = stamp(instant).nanoseconds }

  /// The body starts for the first time.
  mutating func start(at instant: ProcedureInstant) { (started, hasStarted) = (stamp(instant).nanoseconds, true) }

  /// The body has ended.
  mutating func end(at instant: ProcedureInstant) { ended = stamp(instant).nanoseconds }
}

/// The state that few runs need, in parts.
struct RunDetails: ~Copyable, Sendable {
  static let none = RunDetails()

  typealias Listener = @Sendable (ProcedureOutcome<Void>) -> Void

  var cancellation: Cancellation?
  /// The functions to call when the run is cancelled, or a child stops its body.
  var cancellationHandlers: [ProcedureID: @Sendable () -> Void] = [:]
  var children = Children()
  var observers = Observers()
  var dependencies = Dependencies()
  var pause = Pause()
  var claim = ClaimWait()
  var extensions = Extensions()

  /// The task that drives the run, and waits for the next step.
  var driver: Waiter?
  var step: RunStep?
  /// The signals of bodies of this run that wait for the slot.
  var slotWaiters: [OneShotSignal] = []
  /// What the body waits for.
  var waits: [ObjectIdentifier: BodyWait] = [:]
  /// An end without a start: a dependency, a condition, a deadlock.
  var refusal: Run.Outcome?
  var result: Result<any Sendable, any Error>?
  var bindings: [ContextCarrier.Binding] = []
  var timers: [TimerHeap.ID] = []
  /// The time that was left until the deadline at admission.
  var timeToDeadline: Duration?

  /// Whether the run was cancelled, or a produced child has failed and stops its body.
  var isCancelledOrStopping: Bool { cancellation != nil || children.isStopping }

  /// Takes out the references that a run that has ended does not need.
  mutating func takeReferences() -> [any Sendable] {
    [bindings.takeAll(), pause.repetition.take(), result.take()]
  }
}

extension RunDetails {
  /// The cancellation of a run: the first one counts (C1).
  struct Cancellation: Sendable {
    let reason: (any Error)?
    /// The instant, in nanoseconds.
    var instant: Int64 = -1
    /// How many events of the run came before.
    var eventsBefore = 0

    /// The error of the cancellation.
    var error: any Error { reason ?? CancellationError() }
  }

  /// The unfinished children of a run, structured or produced.
  struct Children: Sendable {
    /// What a run is to its parent.
    enum Production: Sendable {
      /// The run was not produced.
      case none
      /// A child, whose failure counts for the parent.
      case child
      /// An element of a sequence, whose failure counts for the reader of the sequence only.
      case element
    }

    var byID: [ProcedureID: Run] = [:]
    /// How many of them were produced, and are awaited at the end of the run.
    var producedCount = 0
    /// The failures of produced children.
    var failures: [ProcedureFailure] = []
    /// Whether the first failure stops the body.
    var isStopping = false
    /// The produced child that has ended last.
    var last: ProcedureIdentity?
    /// The driver of the run, while it waits for the children.
    var settling: Waiter?
    /// What the run itself is to its parent.
    var production = Production.none

    /// The failure of a produced child that stops the body.
    var failFast: ProcedureFailure? { isStopping ? failures.first : nil }
  }

  /// Who learns of the end and the events of a run.
  struct Observers: Sendable {
    /// The signals of tasks that wait for the end.
    var waiters: [ProcedureID: OneShotSignal] = [:]
    /// The functions to call at the end, by the run that waits, or by a number of their own.
    var listeners: [ProcedureID: Listener] = [:]
    /// Whether another procedure waits for this run.
    var isAwaited = false
    var log: EventLog?
  }

  /// The dependencies of a run.
  struct Dependencies: Sendable {
    /// The dependencies, until all have finished.
    var handles: [any ProcedureDependency] = []
    var missingCount = 0
    /// Whether a dependency on another queue has failed.
    var failsFromOutside = false
  }

  /// The pauses of a run, and its attempts.
  struct Pause: Sendable {
    var timer: TimerHeap.ID?
    var end: ProcedureInstant?
    /// The retry or the repetition, once the body has been executed.
    var repetition: (any Repetition)?
    var currentAttempt = 1
    /// Whether the run pauses before the current attempt.
    var isRetrying = false
    /// How many retries of inner layers have started. Only the reported run counts them.
    var innerRetryCount = 0

    /// The latest attempt that has started.
    var latestAttempt: Int { currentAttempt - (isRetrying ? 1 : 0) }
  }

  /// The claims of a run after a pause, for the resources that layers of its procedure have released.
  struct ClaimWait: Sendable {
    /// The waits for these resources: the signal, and one of the layers.
    var reclaiming: [(signal: OneShotSignal, layer: Run)] = []
    /// Whether the run has claimed such resources.
    var hasReclaimed = false
    var refusal: ProcedureError?
  }

  /// What graphs, progress and journals keep with a run.
  struct Extensions: Sendable {
    /// The part in the tree of progress, if there is a reporter or a reader of progress.
    var progress: ProgressNode?
    /// The graph that the body executes.
    var graph: GraphRun?
    /// Whether a value was used that was there already.
    var isReused = false
    /// Why a node of a durable graph is executed again.
    var executionCause: ExecutionCause?
  }
}

/// A wait of a body, and what ends the wait if it is a part of a deadlock.
struct BodyWait: Sendable {
  let wait: RunWait
  let signal: OneShotSignal?
}

/// What a body waits for.
enum RunWait: Sendable {
  case run(Run)
  case idle(QueueCore)
  /// Room on a queue, for a run of this key.
  case room(QueueCore, InternedKey?)
  case conditions([String])
  /// The result of an execution that another run leads.
  case execution(SharedWorkTable, SharedWorkTable.Key, SharedWorkTable.Follower)
  /// An event of a run.
  case eventsOfRun(Run)
  /// An event of something else: a queue, a circuit breaker, a stream.
  case events(of: String)
  /// The turn at a rate limiter.
  case rateLimit

  /// Whether the body can be given an error in the place of what it waits for.
  var canThrow: Bool {
    switch self {
    case .run, .room, .execution: true
    case .idle, .conditions, .eventsOfRun, .events, .rateLimit: false
    }
  }

  /// The queue whose runs are awaited.
  var queue: QueueCore? {
    switch self {
    case .idle(let queue), .room(let queue, _): queue
    case .run, .execution, .conditions, .eventsOfRun, .events, .rateLimit: nil
    }
  }
}

extension Run {
  /// The key of the run; a run without a key of its own has the key of the nearest run around it.
  var key: InternedKey? {
    for run in ancestors {
      if let key = run.layer.traits.key { return key }
    }
    return nil
  }

  /// The identity of the key in the values of the queue, which refer to no user's object. The run keeps the key.
  var keyID: ObjectIdentifier? { key.map(ObjectIdentifier.init) }

  /// Whether the run is a node with a key of its own: meanwhile the worker has that key, whose slot the node uses.
  var hasKeyOfNode: Bool { kind == .node && core.usesKeys && layer.traits.key != nil }
}
