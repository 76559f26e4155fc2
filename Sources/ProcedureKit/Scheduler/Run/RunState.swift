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
  var slotWaiters: [OneShotSignal] = []
  /// Tasks that wait for the end.
  var waiters: [ProcedureID: OneShotSignal] = [:]
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
  /// The waits for the resources that layers of the procedure have released for a pause: the signal, and one of the layers.
  var reclaiming: [(signal: OneShotSignal, layer: Run)] = []
  /// Whether the run has claimed such resources.
  var hasReclaimed = false
  var claimRefusal: ProcedureError?
  var isRetrying = false
  /// Whether a dependency on another queue has failed.
  var failsFromOutside = false
  var log: EventLog?
  /// The part in the tree of progress, if somebody reports or reads progress.
  var progress: ProgressNode?
  /// The graph that the body executes.
  var graph: GraphRun?
  var waits: [ObjectIdentifier: BodyWait] = [:]
  /// The state of a layer that pauses: a retry or a repeat.
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

/// A cancel, with its reason.
struct Cancel: Sendable {
  let reason: (any Error)?

  /// The error that stands for the cancel.
  var error: any Error { reason ?? CancellationError() }
}

/// A wait of a body, and what ends the wait if it is a part of a deadlock.
struct BodyWait {
  let wait: RunWait
  let signal: OneShotSignal?
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
