/// The state of a run. It is guarded by the lock of the run's queue; see `RunTable`.
struct RunState: ~Copyable, Sendable {
  /// The place of the run in `QueueMachine`; -1 before the run is admitted, and after the run ends.
  var member: MemberID = -1
  /// The number that identifies the worker that executes the body; -1 if there is none. Cancelling the run cancels the worker's task.
  var worker: Int32 = -1
  /// The task that is executing the body, if cancelling that task cancels the run; otherwise `nil`, for example if a worker executes the
  /// body.
  var watchedTask: WatchedTask?
  var body: Run.Body?
  /// The instant at which the run was attached to its queue, in nanoseconds; -1 if it has not been attached. `started` and `ended` are
  /// represented in the same way.
  private(set) var attached: Int64 = -1
  private(set) var started: Int64 = -1
  private(set) var ended: Int64 = -1
  /// The instant of the latest event.
  private var latest: Int64 = -1
  private var extras: Extras?
  private var storedMetrics: MetricsStorage?
  /// Whether the outcome has been decided. If so, later cancellations are ignored (C1).
  private(set) var isDecided = false

  /// The state that most runs do not have. A run whose layer has closures stores only the closures until it needs details. The details then
  /// contain the closures.
  private enum Extras {
    case closures(ModifierLayer.Closures)
    case details(DetailsStorage)
  }

  /// The storage of the details. It is a separate object because few runs have details.
  private final class DetailsStorage: @unchecked Sendable {
    // Invariant: only the run's state refers to the object, and the queue's lock guards the state.
    @exclusivity(unchecked) var value = RunDetails()
  }

  private final class MetricsStorage: Sendable {
    let value: ProcedureMetrics

    init(_ value: ProcedureMetrics) { self.value = value }
  }

  @inline(__always) init(body: Run.Body?, closures: ModifierLayer.Closures?) {
    self.body = body
    extras = closures.map { .closures($0) }
  }

  private var storedDetails: DetailsStorage? {
    @inline(__always) get { if case .details(let storage)? = extras { storage } else { nil } }
  }

  /// The details, which most runs do not have. Reading them allocates nothing, and the first change creates them.
  var details: RunDetails {
    @inline(__always) _read { if let storedDetails { yield storedDetails.value } else { yield RunDetails.none } }
    @inline(__always) _modify {
      let storage = storedDetails ?? addDetails()
      yield &storage.value
    }
  }

  private mutating func addDetails() -> DetailsStorage {
    let storage = DetailsStorage()
    storage.value.closures = closures
    extras = .details(storage)
    return storage
  }

  /// The conditions and hooks, until the run ends.
  var closures: ModifierLayer.Closures? {
    @inline(__always) get {
      switch extras {
      case nil: nil
      case .closures(let closures)?: closures
      case .details(let storage)?: storage.value.closures
      }
    }
    @inline(__always) set {
      if let storedDetails { storedDetails.value.closures = newValue } else { extras = newValue.map { .closures($0) } }
    }
  }

  var hasDetails: Bool { storedDetails != nil }

  /// Changes the details if there are any; otherwise returns `nil` and creates none.
  @discardableResult @inline(__always)
  mutating func changeDetails<R>(_ change: (inout RunDetails) -> R) -> R? {
    if let storedDetails { change(&storedDetails.value) } else { nil }
  }

  /// Whether the events of the run are kept in a log.
  var hasLog: Bool { storedDetails?.value.observers.log != nil }

  /// How many of the events `didAttach`, `willExecute`, and `didExecute` have occurred.
  var pastEventCount: Int {
    (attached >= 0 ? 1 : 0) + (started >= 0 ? 1 : 0) + (started >= 0 && ended >= 0 ? 1 : 0)
  }

  /// The metrics of a finished run; `nil` if the run was not measured or does not store its metrics.
  var metrics: ProcedureMetrics? {
    get { storedMetrics?.value }
    set { storedMetrics = newValue.map(MetricsStorage.init) }
  }

  /// Returns the instant to record for an event of the run. It is never earlier than the instant of a previous event (L2).
  mutating func stamp(_ instant: ProcedureInstant) -> ProcedureInstant {
    latest = max(latest, instant.nanoseconds)
    return ProcedureInstant(nanoseconds: latest)
  }

  /// Records that the outcome has been decided (C1).
  @inline(__always) mutating func decide() { isDecided = true }

  /// Records the instant at which the run is attached to its queue.
  mutating func attach(at instant: ProcedureInstant) { attached = stamp(instant).nanoseconds }

  /// Records the instant at which the body starts for the first time.
  mutating func start(at instant: ProcedureInstant) { started = stamp(instant).nanoseconds }

  /// Records the instant at which the body ended.
  mutating func endBody(at instant: ProcedureInstant) { ended = stamp(instant).nanoseconds }
}

/// The task that executes a body. Nested bodies that execute in the same task, and on the same queue, share this object.
///
/// This is an object because the size of a task's identity is known only at run time. Storing the identity directly would make the layout
/// of every run's state dynamic.
final class WatchedTask: Sendable {
  private let task: TaskIdentity?

  /// Creates an object for the current task.
  init() { task = .current }

  var isCurrent: Bool { task == .current }
  var isCancelled: Bool { task?.isCancelled ?? false }
}

/// The state that few runs need, grouped by purpose. Small values come last in each group, so that the structure takes up as few bytes as
/// possible.
struct RunDetails: ~Copyable, Sendable {
  static let none = RunDetails()

  /// What happens when a run has finished.
  enum Listener: Sendable {
    /// The dependent is informed of the outcome. If `acceptsFailure` is `true`, every outcome counts as a success.
    case dependent(Run, acceptsFailure: Bool)
    /// The function is called.
    case function(@Sendable (ProcedureOutcome<Void>) -> Void)
  }

  /// The value of `RunState.closures`, if the run has details.
  fileprivate var closures: ModifierLayer.Closures?
  var cancellation: Cancellation?
  /// The functions to call when the run is cancelled, or when its body is stopped because a child failed.
  var cancellationHandlers: [ProcedureID: @Sendable () -> Void] = [:]
  var children = Children()
  var observers = Observers()
  var dependencies = Dependencies()
  var pause = Pause()
  var claim = ClaimWait()
  var extensions = Extensions()

  /// The task that drives the run; `nil` unless the task is waiting for the next step.
  var driver: Waiter?
  /// The next step, until the task that drives the run takes it.
  var step: RunStep?
  /// The signals of the body's tasks that are waiting for the slot.
  var slotWaiters: [OneShotSignal] = []
  /// The body's current waits. The key is the identity of the object with which a wait was registered.
  var waits: [ObjectIdentifier: BodyWait] = [:]
  /// The outcome of a run that finishes without starting (`Run.finishWithoutStart`).
  var outcomeWithoutStart: RunOutcome.Failure?
  var result: Result<any Sendable, any Error>?
  var bindings: [ContextCarrier.Binding] = []
  var timers: [TimerHeap.ID] = []
  /// The time from the admission of the run to its deadline.
  var timeToDeadline: Duration?

  /// Whether the run was cancelled, or its body is being stopped because a child that it produced failed.
  var isCancelledOrStopping: Bool { cancellation != nil || children.isStopping }
  /// Whether no further execution of the body starts, because the run was cancelled, or a child that its body produced failed.
  var preventsStart: Bool { cancellation != nil || children.stop != .none }

  /// The references that a finished run does not need. They are stored in a separate object because few runs have any.
  final class References: Sendable {
    /// The dependencies, if at least one of them has not finished.
    let dependencies: [any ProcedureDependency]
    /// The log of the run's events.
    let log: EventLog?
    let bindings: [ContextCarrier.Binding]
    let repetition: (any Repetition)?
    let result: Result<any Sendable, any Error>?

    /// Moves the references out of the details.
    init(takenFrom details: inout RunDetails) {
      (dependencies, log) = (details.dependencies.handles.takeAll(), details.observers.log)
      bindings = details.bindings.takeAll()
      (repetition, result) = (details.pause.repetition.take(), details.result.take())
    }
  }
}

extension RunDetails {
  /// The cancellation of a run. Only the first cancellation takes effect (C1).
  struct Cancellation: Sendable {
    let reason: (any Error)?
    /// The instant of the cancellation, in nanoseconds.
    var instant: Int64 = -1
    /// How many events of the run occurred before the cancellation.
    var eventsBefore = 0
    /// Whether the run fails with the reason, because of its own timeout or deadline, or because of a deadlock.
    var isFailure = false

    /// The outcome of the cancelled run (C5, R4).
    var outcome: RunOutcome {
      if isFailure, let reason { return .failed(reason) }
      return RunOutcome(.cancelled(reason: reason))
    }
  }

  /// The unfinished children of a run, including those that its body produced.
  struct Children: Sendable {
    /// The relation of a run to its parent.
    enum Production: Sendable {
      /// The run was not produced.
      case none
      /// A child. Its failure affects the parent.
      case child
      /// An element of a sequence. Its failure affects only the reader of the sequence.
      case element
    }

    var byID: [ProcedureID: Run] = [:]
    /// The nested runs that this run awaits even though they are not its children: the runs that its end hooks call, and the runs whose
    /// outcomes are published but whose `onDidFinish` hooks have not ended.
    var awaitedInHooks: [ProcedureID: Run] = [:]
    /// The failures of the children that the body produced.
    var failures: [ProcedureFailure] = []
    /// Of the children that the body produced, the one that finished most recently.
    var last: ProcedureIdentity?
    /// The task that drives the run; `nil` unless the task is waiting for the children.
    var waiter: Waiter?
    /// The number of unfinished children that the body produced. The run awaits them before it ends.
    var producedCount: Int32 = 0
    /// Whether the body is stopped because a child failed. A stop has two steps, because a body that awaits the child receives the child's
    /// error before it is interrupted.
    var stop = Stop.none
    /// The relation of this run to its own parent.
    var production = Production.none

    /// A stop, from the failure of the child on.
    enum Stop: Sendable {
      case none
      /// The run starts nothing more, but its children, its handlers, and its task have not been informed yet (`Run.childFails`).
      case begun
      /// They have been informed (`Run.completeStop`).
      case complete
    }

    /// Whether the body is being stopped because a child failed.
    var isStopping: Bool { stop == .complete }

    /// The failure that caused the body to be stopped; `nil` if the body is not being stopped.
    var failFast: ProcedureFailure? { isStopping ? failures.first : nil }
  }

  /// The observers of a run's end and events.
  struct Observers: Sendable {
    /// The signals of the tasks that are waiting for the run to end.
    var waiters: [ProcedureID: OneShotSignal] = [:]
    /// What happens when the run ends, keyed by the IDs of its dependents or by reserved IDs. A run that depends on this one several times
    /// has one listener for each dependency.
    var listeners: [ProcedureID: [Listener]] = [:]
    var log: EventLog?
    /// Whether another procedure is waiting for this run.
    var isAwaited = false
  }

  /// The dependencies of a run.
  struct Dependencies: Sendable {
    /// The dependencies, until all of them have finished.
    var handles: [any ProcedureDependency] = []
    var missingCount: Int32 = 0
    /// Whether a dependency on another queue has failed.
    var failsFromOutside = false
  }

  /// The pauses and attempts of a run.
  struct Pause: Sendable {
    var timer: TimerHeap.ID?
    var end: ProcedureInstant?
    /// The retry or the repetition, once the first execution has created it.
    var repetition: (any Repetition)?
    var currentAttempt: Int32 = 1
    /// The number of retries that inner layers have started. Only the state of the reported run contains this number.
    var innerRetryCount: Int32 = 0
    /// How many calls have failed before a retry, a replacement or a worker's answer. Only the state of the reported run contains this
    /// number.
    var failedCallCount: Int32 = 0
    /// Whether the run is pausing before the current attempt.
    var isRetrying = false

    /// The number of the attempt that started most recently.
    var latestAttempt: Int { Int(currentAttempt) - (isRetrying ? 1 : 0) }
  }

  /// The state for reclaiming the resources that the layers of a procedure released during a pause.
  struct ClaimWait: Sendable {
    /// The signals of the tasks that are waiting to reclaim resources.
    var reclaiming: [OneShotSignal] = []
    var refusal: ProcedureError?
    /// Whether the run has made a claim for resources that were released during a pause. The claim may not have been granted yet.
    var hasReclaimed = false
  }

  /// The data that graphs, progress, and journals store with a run.
  struct Extensions: Sendable {
    /// The node in the progress tree, if progress is reported or read.
    var progress: ProgressNode?
    /// The graph that the body executes.
    var graph: GraphRun?
    /// Whether the run reused an existing value.
    var isReused = false
    /// The reason a node of a durable graph is executed again.
    var executionCause: ExecutionCause?
  }
}

extension Run {
  /// Stores, for `willExecute` and for snapshots, the reason a node of a durable graph is executed again.
  package func noteExecutionCause(_ cause: ExecutionCause) {
    core.update { $0[self].details.extensions.executionCause = cause }
  }
}
