extension ProcedureQueue {
  /// The settings of a queue. Change what differs from the defaults, then make the queue.
  ///
  /// ```swift
  /// var configuration = ProcedureQueue.Configuration("uploads", maxConcurrentProcedures: 4)
  /// configuration.maxWaitingProcedures = 1_000
  /// let queue = ProcedureQueue(configuration)
  /// ```
  ///
  /// A configuration is a value: one configuration can make many queues, and a later change reaches no queue.
  public struct Configuration: Sendable {
    /// The name of the queue in errors, snapshots and logs.
    public var name: String

    /// How many bodies may execute at once; at least 1, otherwise making the queue traps.
    public var maxConcurrentProcedures: Int

    /// Whether the queue waits to be resumed before starting procedures.
    public var isSuspended: Bool

    /// The clock of events, pauses and timeouts.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// The executor of bodies; `nil` for the global executor. `run` takes the body there, too; with `nil`, a nested `run`
    /// executes on the executor of the enclosing body.
    public var executor: (any TaskExecutor)?

    /// How many added procedures may wait to be started, for any reason; at least 1, otherwise making the queue traps.
    ///
    /// An added procedure counts until a worker starts the procedure, also if a slot is free. Procedures of `run` wait in the
    /// caller's task and do not count, nor do produced children.
    public var maxWaitingProcedures = Int.max

    /// How many added procedures of one key may wait to be started; at least 1, otherwise making the queue traps.
    ///
    /// The limit holds beside ``maxWaitingProcedures``. Procedures without a key (``Procedure/keyed(by:)``) are not limited.
    public var maxWaitingProceduresPerKey = Int.max

    /// The order of procedures of equal priority.
    public var fairness: QueueFairness = .admissionOrder

    /// How many bodies of one key may execute at once; at least 1, otherwise making the queue traps.
    ///
    /// A procedure without a slot does not count: a body that waits for other work of the library lends its slot to others
    /// of the key, and needs room of the key before the body goes on; a retry or a repeat does not count in its pause. So a body never
    /// waits for its own key. A procedure whose key is full holds its resources, like a procedure that waits for a slot.
    /// Procedures without a key (``Procedure/keyed(by:)``) are not limited.
    public var maxConcurrentProceduresPerKey = Int.max

    /// The response to a procedure beyond ``maxWaitingProcedures`` or ``maxWaitingProceduresPerKey``.
    public var overflow: QueueOverflow = .refuse

    /// The task-local values that `add` takes from the caller to the body.
    public var contextCarriers: [ContextCarrier] = []

    /// The table in which procedures claim resources.
    public var resources: ResourceTable = .shared

    /// The functions to call for each procedure, and to await.
    public var hooks: ProcedureHooks?

    /// A function around the body of each procedure of the queue, nodes of graphs included, which can bind task-local values or
    /// measure. `next` executes the body, and throws its error.
    ///
    /// ```swift
    /// configuration.interceptor = { context, next in
    ///   try await Tracing.$span.withValue(Span(context.name)) { try await next() }
    /// }
    /// ```
    ///
    /// The interceptor is called after the hooks before the body, with slot and resources; for a procedure that retries or
    /// repeats, it is called for each attempt, and sees the error of each. An interceptor that throws fails the procedure. One that
    /// returns cannot change the result; a procedure whose interceptor returns without calling `next` fails with
    /// ``ProcedureError/Kind/bodySkipped``. For one procedure, see ``Procedure/intercepted(_:)``.
    public var interceptor:
      (
        @concurrent @Sendable (
          _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
        ) async throws -> Void
      )?

    /// The seed of the random delays in schedules, for tests; `nil` for true chance.
    public var seed: UInt64?

    /// The log of the queue; `nil` for ``ProcedureLog/shared`` at the time of each message.
    public var log: ProcedureLog?

    /// Whether the queue counts what happens, and measures how long; see ``QueueSnapshot/totals``.
    ///
    /// Each procedure then costs about as much more as with one subscriber to the events.
    public var collectsTotals = false

    /// Called with the failure of an added procedure that nobody can learn of; `nil` writes a warning to the log.
    ///
    /// A failure is unobserved if the last handle of the procedure goes, and nobody has read the handle's `value`, `result`
    /// or `outcome`, subscribed to its events, or depended on the procedure. Within ``withProcedureQueue(_:errorPolicy:_:)``
    /// a failure is thrown instead. The function is called by the task that drops the last handle, and must return soon.
    public var onUnobservedFailure: (@Sendable (ProcedureFailure) -> Void)?

    /// How long nothing may move until the queue counts as stalled, and calls ``onStall``; `nil` for no such watch. Not
    /// positive durations trap.
    ///
    /// A queue has stalled if it has procedures, and none of them has started, begun or ended a wait, or ended for this time:
    /// a body waits for an answer that does not come, or computes for longer. A suspended queue does not stall, nor does a queue
    /// with a pending timer, since the timer will move something: a pause, a timeout or a deadline of any of its procedures.
    /// Procedures that are added to a queue which is stuck do not count as a move.
    ///
    /// While the queue has procedures, one timer is pending on ``clock``. The report comes at the earliest after this time, and at
    /// the latest after twice this time.
    public var stallTimeout: Duration?

    /// Called with the snapshot when the queue has stalled: once, and again only after something has moved. `nil` writes
    /// the snapshot to the log, as a warning.
    ///
    /// The function is called by the task of the queue's timers, and must return soon.
    public var onStall: (@Sendable (QueueSnapshot) -> Void)?

    /// Creates a configuration with default settings.
    ///
    /// - Parameters:
    ///   - name: The name of the queue in errors, snapshots and logs.
    ///   - maxConcurrentProcedures: How many bodies may execute at once.
    ///   - isSuspended: Whether the queue waits to be resumed before starting procedures.
    public init(
      _ name: String = "ProcedureQueue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false
    ) {
      (self.name, self.isSuspended) = (name, isSuspended)
      self.maxConcurrentProcedures = maxConcurrentProcedures
    }

    /// Makes the parts of a queue. `scope` is the error policy of a scope, which collects the failures itself.
    func makeCore(scope: ErrorPolicy? = nil) -> QueueCore {
      require(
        maxConcurrentProcedures >= 1,
        "ProcedureQueue \"\(name)\": maxConcurrentProcedures is \(maxConcurrentProcedures); with less than 1 nothing would start"
      )
      require(
        maxWaitingProcedures >= 1,
        "ProcedureQueue \"\(name)\": maxWaitingProcedures is \(maxWaitingProcedures); with less than 1 nothing could be added"
      )
      require(
        stallTimeout.map { $0 > .zero } ?? true,
        "ProcedureQueue \"\(name)\": stallTimeout is \(stallTimeout ?? .zero); it has to be positive")
      for (name, limit) in [
        ("maxConcurrentProceduresPerKey", maxConcurrentProceduresPerKey),
        ("maxWaitingProceduresPerKey", maxWaitingProceduresPerKey),
      ] {
        require(
          limit >= 1,
          "ProcedureQueue \"\(self.name)\": \(name) is \(limit); with less than 1 no procedure with a key would start")
      }
      return QueueCore(
        name: name, width: maxConcurrentProcedures, isSuspended: isSuspended, clock: clock, executor: executor,
        carriers: contextCarriers, resources: resources, hooks: hooks,
        limiter: AdmissionLimiter(
          limit: maxWaitingProcedures, limitPerKey: maxWaitingProceduresPerKey, overflow: overflow),
        fairQueue: FairQueue(
          takesTurns: fairness == .byKey, limit: maxConcurrentProceduresPerKey,
          listsKeysWithCapacity: maxWaitingProceduresPerKey < .max), seed: seed,
        interceptor: interceptor,
        failures: scope.map { .scope($0, afterwards: onUnobservedFailure) } ?? .unobserved(onUnobservedFailure),
        stallReport: stallTimeout.map { [onStall] in
          StallReport(timeout: $0) { core in onStall.map { $0(core.snapshot()) } ?? core.logStall() }
        }, log: log, collectsTotals: collectsTotals)
    }
  }
}

/// The order in which a queue starts procedures of equal priority.
public enum QueueFairness: Sendable, Hashable {
  /// Procedures start in order of admission.
  case admissionOrder
  /// Keys take turns, and the procedures of one key start in order of admission. ``Procedure/keyed(by:)`` sets the key.
  ///
  /// A key that gets work comes behind the other keys with work, and so does a key after each start of one of its procedures. With k
  /// keys that have work, the first procedure of a key therefore starts after at most k further starts of its priority, however long
  /// the backlogs of other keys are. All procedures without a key have one turn together. The parts of a body, which are nested
  /// runs and nodes of graphs, take no turns: they go on with the body.
  case byKey
}

/// The response to a procedure that is added to a full queue: as many procedures as allowed, in all or of the key, wait to be
/// started.
public enum QueueOverflow: Sendable, Hashable {
  /// The queue refuses the procedure, which fails with ``ProcedureError/Kind/queueFull``.
  case refuse
  /// The procedure takes the place of the oldest waiting procedure with an equal key. The replaced procedure is cancelled,
  /// with ``ProcedureError/Kind/replaced`` as the reason. Without an equal key among the waiting procedures, the
  /// queue refuses the new procedure. ``Procedure/keyed(by:)`` sets the key; all procedures without a key count as equal.
  case replaceOldest
  /// The procedure takes the place of the newest waiting procedure with an equal key; see ``replaceOldest``.
  case replaceNewest
}

/// The functions that a queue calls for every procedure, and awaits. A slow hook delays the procedure; see
/// ``ProcedureQueue/Configuration/hooks``.
///
/// The hooks of a queue enclose the hooks of the procedures: the queue's `onWillExecute` is called before the procedure's
/// hook, and all other hooks of the queue are called after the procedure's hooks. The hooks are called for procedures that
/// are run, added or produced on the queue, and for the nodes of graphs that are executed. The hooks are not called for a
/// refused procedure: a procedure is refused by a queue that is shut down or full, or because the producer has ended. To watch without delaying
/// the procedures, use ``ProcedureQueue/events``.
public struct ProcedureHooks: Sendable {
  /// Called when a procedure has a slot, before the body. If the hook throws, the body is not executed, and the procedure fails.
  public var onWillExecute: (@concurrent @Sendable (ProcedureIdentity) async throws -> Void)?
  /// Called when a body has ended, with the outcome of the body. If the hook throws, the procedure fails.
  public var onDidExecute: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when a procedure was cancelled, with the reason; after the body, if the body was executing.
  public var onDidCancel: (@concurrent @Sendable (ProcedureIdentity, (any Error)?) async -> Void)?
  /// Called when the outcome is decided, before the outcome can be read. If the hook throws, the procedure fails; a cancelled
  /// procedure stays cancelled.
  public var onWillFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async throws -> Void)?
  /// Called when the outcome can be read. The queue is not idle before the hook has returned.
  public var onDidFinish: (@concurrent @Sendable (ProcedureIdentity, ProcedureOutcome<Void>) async -> Void)?

  /// Makes hooks that are all `nil`.
  public init() {}

  /// Whether a hook is called at the end of a run.
  var hasFinishHooks: Bool { onDidCancel != nil || onWillFinish != nil || onDidFinish != nil }
}

/// The destination of the failures of added procedures.
enum FailureHandling: Sendable {
  /// A scope collects the failures, cancels the rest as the policy says, and throws at its end; `afterwards` is as for `unobserved`.
  case scope(ErrorPolicy, afterwards: (@Sendable (ProcedureFailure) -> Void)?)
  /// The function is called with each failure that no handle has shown to anybody; `nil` writes to the log.
  case unobserved((@Sendable (ProcedureFailure) -> Void)?)
}
