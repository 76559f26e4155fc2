import Synchronization

/// One execution of one level of a procedure: everything that executes is a run.
///
/// The differences are data: who drives the run, whose slot it uses, its parent. A level inside of a level, an attempt, a copy of a hedge, a
/// produced child, a node, a procedure without a queue: all are runs, and `RunDriver` leads them through the phases of `QueueMachine`.
///
/// Invariant of `@unchecked Sendable`: what is `var` is guarded by the lock of `core`, but for `outcome`, which is written once under that lock
/// before the run is marked as finished, and read after.
@usableFromInline
final class Run: @unchecked Sendable {
  /// The purpose of a call of the body.
  @usableFromInline
  enum BodyStage: Sendable {
    case reuse
    case hooks
    case execute
  }

  @usableFromInline typealias Body = @Sendable (Run, BodyStage) async throws -> any Sendable
  typealias Outcome = Level.Outcome

  enum Kind: UInt8, Sendable {
    /// Run in the caller's task.
    case structured
    /// Added to a queue: a worker executes the body.
    case added
    /// A level, or an attempt, of the run around it.
    case level
    /// A procedure that the body of another one calls.
    case call
    /// A copy of a hedge: part of the run around it, with a slot of its own.
    case copy
    /// A node of a graph that has more than a body.
    case node
    /// A node that has only a body, which needs a run: its events are those of its graph.
    case bareNode
    /// A further worker of a graph.
    case graphWorker

    /// Whether runs have an id and events of their own; levels, attempts and copies report under those of the run around them.
    var isReported: Bool {
      switch self {
      case .structured, .added, .node, .bareNode: true
      case .level, .call, .copy, .graphWorker: false
      }
    }
  }

  @usableFromInline let core: QueueCore
  @usableFromInline let level: Level
  let id: ProcedureID
  let kind: Kind
  let attempt: Int32
  /// The run around this one. Changed only when nothing else refers to this run yet, or any more.
  private(set) var parent: Run?
  /// Whether a body that was cancelled before calls the procedure, to clean up: that cancel does not count for it.
  let cleansUp: Bool
  /// Whether the run cleans up, or is within a run that does: the cancel of the task, and of the body around, does not count.
  let ignoresEarlierCancel: Bool
  /// Whether that cancellation has cancelled the task, too, so that the task says nothing about this run. The task of a body that `run` executes in its
  /// caller's is not cancelled with the body (C3): a task group in such a call cancels its procedures as elsewhere.
  let ignoresTaskCancellation: Bool
  /// The run whose slot the body uses.
  private let slotRun: Run?
  /// The run under whose id this one reports; `nil` for itself. Stored, so that deep layers do not search for it.
  private let reportingRun: Run?
  /// Whether a layer of the procedure around this one declares resources.
  private let isWithinDemands: Bool
  /// Whether the run need not wait for a condition that ignores its cancellation: it is part of an added run, and not of a call, which is
  /// structured and returns when all of its tasks have ended.
  let leavesConditionsBehind: Bool

  var member: MemberID = -1
  /// Whether the outcome is decided, so that a cancel comes too late.
  var isDecided = false
  /// Whether the body has been called.
  var hasStarted = false
  /// The worker that executes the body, which a cancel of the run cancels.
  var worker: Worker?
  /// The task that executes the body, while a cancellation of that task cancels the run; `nil` for a task of a worker.
  var watchedTask: TaskIdentity?
  var body: Body?
  /// The conditions and hooks, until the run has ended.
  var closures: Level.Closures?
  var details: RunDetails?
  /// The instant of the latest event.
  private var latest: Int64 = -1
  var attached: Int64 = -1
  var started: Int64 = -1
  var ended: Int64 = -1
  var outcome: Outcome?
  private var keptMetrics: KeptMetrics?
  private let marks = Atomic<UInt8>(0)

  init(
    _ core: QueueCore, _ level: Level, _ kind: Kind, parent: Run?, id: ProcedureID? = nil, attempt: Int = 1,
    slotOf owner: Run? = nil,
    closures: Level.Closures? = nil, body: Body? = nil
  ) {
    (self.core, self.level, self.kind, self.parent, slotRun) = (core, level, kind, parent, owner)
    (self.body, self.closures) = (body, closures)
    (self.attempt, self.id) = (Int32(clamping: attempt), id ?? ProcedureID.reserve())
    reportingRun = kind.isReported ? nil : parent?.reported
    isWithinDemands =
      kind == .level && parent.map { !$0.level.traits.demands.isEmpty || $0.isWithinDemands } ?? false
    leavesConditionsBehind =
      switch kind {
      case .added: true
      case .structured, .call: false
      case .level, .copy, .node, .bareNode, .graphWorker: parent?.leavesConditionsBehind ?? false
      }
    switch kind {
    case .call:
      let mayIgnore = parent.map { !$0.isStopping } ?? false
      let isTaskCancelled = Task.isCancelled && parent?.isTaskOfBodyCancelled ?? false
      cleansUp = mayIgnore && (isTaskCancelled || parent?.isToldToStop ?? false)
      ignoresEarlierCancel = cleansUp || mayIgnore && parent?.ignoresEarlierCancel ?? false
      let isTaskCancelledWithBody = cleansUp ? parent?.slotOwner.kind != .structured : parent?.ignoresTaskCancellation
      ignoresTaskCancellation = ignoresEarlierCancel && (isTaskCancelledWithBody ?? false || isTaskCancelled)
    case .level, .copy, .node, .bareNode, .graphWorker:
      cleansUp = false
      ignoresEarlierCancel = parent?.ignoresEarlierCancel ?? false
      ignoresTaskCancellation = parent?.ignoresTaskCancellation ?? false
    case .structured, .added: (cleansUp, ignoresEarlierCancel, ignoresTaskCancellation) = (false, false, false)
    }
  }

  deinit {
    // The last handle has gone.
    if isAddedByUser, case .failed(let error)? = outcome, marks.load(ordering: .relaxed) & Self.observedMark == 0 {
      core.tellOfUnobserved(ProcedureFailure(procedure: identity, error: error))
    }
    // A long chain of parents is released in a loop.
    var ancestor = parent.take()
    while isKnownUniquelyReferenced(&ancestor) { ancestor = ancestor?.parent.take() }
  }

  var name: String { level.name }

  /// The parent does not take the run as a child.
  func leaveParent() { parent = nil }

  /// Whether the run was added to a queue, and not produced by a body.
  var isAddedByUser: Bool { kind == .added && parent == nil }

  /// The instant of what happens to the run: never before what has happened. Called under the lock (L2).
  func stamp(_ instant: ProcedureInstant) -> ProcedureInstant {
    latest = max(latest, instant.nanoseconds)
    return ProcedureInstant(nanoseconds: latest)
  }

  /// Whether the outcome can be read.
  @usableFromInline var isFinished: Bool { marks.load(ordering: .acquiring) & Self.finishedMark != 0 }

  /// The metrics of a run that has ended and was measured, for its handle and its graph.
  var metrics: ProcedureMetrics? { core.withState { _ in metricsUnderLock } }

  /// The metrics, for a caller that has the lock.
  var metricsUnderLock: ProcedureMetrics? { keptMetrics?.metrics }

  /// Called under the lock.
  func keep(_ metrics: ProcedureMetrics) {
    if kind == .added || kind == .bareNode { keptMetrics = KeptMetrics(metrics) }
  }

  /// The metrics as an object, since few runs have any.
  private final class KeptMetrics: Sendable {
    let metrics: ProcedureMetrics

    init(_ metrics: ProcedureMetrics) { self.metrics = metrics }
  }

  /// The outcome was written. Called under the lock.
  func setFinished() { marks.bitwiseOr(Self.finishedMark, ordering: .releasing) }

  /// Somebody learns of the outcome.
  func setObserved() { marks.bitwiseOr(Self.observedMark, ordering: .relaxed) }

  /// Whether the events of the run are kept in a log.
  var hasLog: Bool { marks.load(ordering: .relaxed) & Self.loggedMark != 0 }

  func setLogged() { marks.bitwiseOr(Self.loggedMark, ordering: .relaxed) }

  private static let finishedMark: UInt8 = 1
  private static let observedMark: UInt8 = 2
  private static let loggedMark: UInt8 = 4

  /// Whether the run has an id and events of its own.
  var isReported: Bool { kind.isReported }

  /// The run under whose id this one reports.
  var reported: Run { reportingRun ?? self }

  var identity: ProcedureIdentity {
    let run = reported
    return ProcedureIdentity(id: run.id, name: run.name)
  }

  /// The identity of the run, under the name of its own level.
  var levelIdentity: ProcedureIdentity { ProcedureIdentity(id: reported.id, name: name) }

  /// The run whose slot the body uses: its own, or that of the run around it.
  var slotOwner: Run { slotRun ?? self }

  /// Whether the run executes as a part of a body around it, and uses the slot of that body.
  var isPartOfBody: Bool { slotRun != nil && slotRun !== self }

  var isDrivenByWorker: Bool { kind == .added }

  /// The details, made when something needs them. Called under the lock.
  var madeDetails: RunDetails {
    if let details { return details }
    let made = RunDetails()
    details = made
    return made
  }

  var cancellation: Cancel? { details?.cancel }

  var ancestors: UnfoldFirstSequence<Run> { sequence(first: self, next: \.parent) }

  /// The layers of the same procedure around this one, from the inside; empty if none of them declares resources.
  ///
  /// O(n) for n layers. Layers that declare nothing are not walked, so that 10,000 of them take no square of that time.
  var enclosingLevels: [Run] {
    guard isWithinDemands else { return [] }
    var levels: [Run] = []
    var run = self
    while run.isWithinDemands, let parent = run.parent {
      levels.append(parent)
      run = parent
    }
    return levels
  }

  /// The value of a run that has succeeded.
  @usableFromInline
  var value: (any Sendable)? {
    if case .finished(let value)? = outcome { value } else { nil }
  }
}

/// A cancel, with its reason.
struct Cancel: Sendable {
  let reason: (any Error)?

  /// The error that stands for the cancel.
  var error: any Error { reason ?? CancellationError() }
}

/// The state that few runs need. Guarded by the lock of the run's queue.
final class RunDetails {
  /// Whether a parent awaits the run at its end.
  enum Production {
    case none
    /// A child, whose failure counts for the parent.
    case child
    /// An element of a sequence, whose failure counts for the reader of the sequence only.
    case element
  }

  typealias Listener = @Sendable (ProcedureOutcome<Void>) -> Void

  var cancel: Cancel?
  var cancelInstant: Int64 = -1
  /// How many events of the run the cancel follows.
  var eventsBeforeCancel = 0
  /// The task that drives the run and waits for the next step.
  var caller: Waiter?
  var step: RunStep?
  /// Called when the run is cancelled, or its children stop it.
  var handlers: [ProcedureID: @Sendable () -> Void] = [:]
  /// Unfinished children, structured or produced.
  var children: [ProcedureID: Run] = [:]
  var producedCount = 0
  var failures: [ProcedureFailure] = []
  var isStopping = false
  /// The produced child that has ended last.
  var lastChild: ProcedureIdentity?
  /// What the run is to its parent.
  var production = Production.none
  /// The driver that waits for the children.
  var settling: Waiter?
  /// Bodies of this run that wait for the slot.
  var slotWaiters: [Wakeup] = []
  /// Tasks that wait for the end.
  var waiters: [ProcedureID: Wakeup] = [:]
  /// The functions to call at the end, by the run that waits, or by a number of their own.
  var listeners: [ProcedureID: Listener] = [:]
  /// Whether another procedure waits for this run.
  var isAwaited = false
  var dependencies: [any ProcedureDependency] = []
  var missingDependencies = 0
  /// An end without a start: a dependency, a condition, a deadlock, a queue that refuses.
  var refusal: Run.Outcome?
  var result: Result<any Sendable, any Error>?
  var bindings: [ContextCarrier.Binding] = []
  var timers: [TimerHeap.ID] = []
  /// How long the deadline was away when the run came.
  var timeToDeadline: Duration?
  var pauseTimer: TimerHeap.ID?
  var pauseEnd: ProcedureInstant?
  /// The waits for the resources that levels of the procedure have released for a pause: the wakeup, and one of the levels.
  var reclaiming: [(wakeup: Wakeup, level: Run)] = []
  /// Whether the run has claimed such resources.
  var hasReclaimed = false
  var claimRefusal: ProcedureError?
  var isRetrying = false
  /// Whether a dependency on another queue has failed.
  var failsFromOutside = false
  var log: EventLog?
  /// The part in the tree of progress, if somebody reports or reads progress.
  var progress: ProgressPart?
  /// The graph that the body executes.
  var graph: GraphRun?
  var waits: [ObjectIdentifier: BodyWait] = [:]
  /// The state of a level that pauses: a retry or a repeat.
  var pacing: (any Sendable)?
  var currentAttempt = 1
  /// The latest attempt that has started.
  var latestAttempt: Int { currentAttempt - (isRetrying ? 1 : 0) }
  /// How many retries of inner layers have started. Only the reported run counts them.
  var innerRetryCount = 0
  /// Whether a value was used that was there already.
  var isReused = false
  /// Why a node of a durable graph is executed again.
  var executionCause: ExecutionCause?
  /// Called if the run ends in its pause, or before the next start.
  var abandonPause: (@Sendable () -> Void)?

  /// Takes out the references that a run that has ended does not need.
  func takeReferences() -> [any Sendable] {
    [bindings.takeAll(), pacing.take(), result.take()]
  }
}

/// A wait of a body, and what ends the wait if it is a part of a deadlock.
struct BodyWait {
  let wait: RunWait
  let wakeup: Wakeup?
}

/// What a body waits for.
enum RunWait {
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

/// Thrown by the body of a level that pauses, to its driver.
struct Pause: Error {
  let duration: Duration
  /// The error of the attempt before the pause, if any.
  var error: (any Error)?
}
