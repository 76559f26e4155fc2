extension ProcedureQueue {
  /// The settings of a queue. Change the settings that differ from the defaults, then create the queue.
  ///
  /// ```swift
  /// var configuration = ProcedureQueue.Configuration("uploads", maxConcurrentProcedures: 4)
  /// configuration.maxWaitingProcedures = 1_000
  /// let queue = ProcedureQueue(configuration)
  /// ```
  ///
  /// A configuration is a value: one configuration can create many queues, and later changes do not affect queues that already exist.
  public struct Configuration: Sendable {
    /// The name of the queue in errors, snapshots and logs.
    public var name: String

    /// The number of bodies that may execute at a time. At least 1; otherwise creating the queue traps.
    public var maxConcurrentProcedures: Int

    /// Whether the queue starts no procedures until it is resumed.
    public var isSuspended: Bool

    /// The clock for events, pauses and timeouts.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// The executor on which bodies execute; `nil` for the global executor.
    ///
    /// `run` executes the body there, too; with `nil`, a nested `run` executes on the executor of the enclosing body.
    public var executor: (any TaskExecutor)?

    /// The number of added procedures that may wait to be started, for any reason. At least 1; otherwise creating the queue traps.
    ///
    /// An added procedure counts until a worker starts it, even if a slot is free. Procedures that are executed by `run` wait in the
    /// caller's task and do not count; nor do produced children.
    public var maxWaitingProcedures = Int.max

    /// The number of added procedures with the same key that may wait to be started. At least 1; otherwise creating the queue traps.
    ///
    /// The limit applies in addition to ``maxWaitingProcedures``. Procedures without a key (``Procedure/keyed(by:)``) are not limited.
    public var maxWaitingProceduresPerKey = Int.max

    /// The order of procedures of equal priority.
    public var fairness: QueueFairness = .admissionOrder

    /// The number of bodies with the same key that may execute at a time. At least 1; otherwise creating the queue traps.
    ///
    /// A procedure without a slot does not count. A body that waits for other work that the library runs releases its slot, which other
    /// procedures with the same key can then take; the body continues when the key has capacity again. A retry or a repetition does not
    /// count during its pause. As a result, a body never waits for its own key. A procedure whose key is at its limit keeps its resources,
    /// like a procedure that is waiting for a slot. Procedures without a key (``Procedure/keyed(by:)``) are not limited.
    public var maxConcurrentProceduresPerKey = Int.max

    /// The response when the number of waiting procedures exceeds ``maxWaitingProcedures`` or ``maxWaitingProceduresPerKey``.
    public var overflow: QueueOverflow = .refuse

    /// The task-local values that `add` carries from the caller to the body.
    public var contextCarriers: [ContextCarrier] = []

    /// The table in which procedures claim resources.
    public var resources: ResourceTable = .shared

    /// A function that wraps the body of every procedure on the queue, including the nodes of graphs.
    ///
    /// It can bind task-local values or take measurements. `next` executes the body, and throws the body's error.
    ///
    /// ```swift
    /// configuration.interceptor = { context, next in
    ///   try await Tracing.$span.withValue(Span(context.name)) { try await next() }
    /// }
    /// ```
    ///
    /// The interceptor is called after the hooks that precede the body, while the procedure has its slot and resources. For a procedure
    /// that retries or repeats, it is called for each attempt, and sees the error of each attempt. An interceptor that throws fails the
    /// procedure. An interceptor that returns cannot change the result; if it returns without calling `next`, the procedure fails with
    /// ``ProcedureError/Kind/bodySkipped``. For one procedure, see ``Procedure/intercepted(_:)``.
    public var interceptor:
      (
        @concurrent @Sendable (
          _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
        ) async throws -> Void
      )?

    /// The seed of the random delays in schedules, for tests; `nil` for a random seed.
    public var seed: UInt64?

    /// The log of the queue; `nil` for whichever log is ``ProcedureLog/shared`` when a message is written.
    public var log: ProcedureLog?

    /// Whether the queue counts and measures what its procedures do; see ``QueueSnapshot/totals``.
    ///
    /// With this setting, each procedure costs about as much as it does while the queue's events have one subscriber.
    public var collectsTotals = false

    /// The function that is called with each failure that no handle can report any longer; `nil` logs a warning.
    ///
    /// A failure is unobserved if the last handle to the procedure is released before any code has read the handle's `value`, `result` or
    /// `outcome`, subscribed to its events, or depended on the procedure. Within ``withProcedureQueue(_:onFailure:_:)`` a failure is thrown
    /// instead. The function is called by the task that drops the last handle, and must return quickly.
    public var onUnobservedFailure: (@Sendable (ProcedureFailure) -> Void)?

    /// The time without progress after which the queue counts as stalled and calls ``onStall``; `nil` to disable the check. A duration
    /// that is not positive traps.
    ///
    /// A queue has stalled if it has procedures, and none of them has started, begun or ended a wait, or finished within this time: for
    /// example, because a body is waiting for an answer that does not arrive, or is computing for longer. A suspended queue does not stall,
    /// nor does a queue while a timer for any of its procedures is pending, since the end of a pause, a timeout or a deadline will cause
    /// progress. Adding procedures to a stalled queue does not count as progress.
    ///
    /// While the queue has procedures, one timer is pending on ``clock``. The stall is reported after this time at the earliest, and
    /// after twice this time at the latest.
    public var stallTimeout: Duration?

    /// The function that is called with the snapshot of a stalled queue; `nil` logs the snapshot as a warning.
    ///
    /// It is called once for each stall: there must be progress before it is called again.
    ///
    /// The function is called in the task that runs the queue's timers, and must return quickly.
    public var onStall: (@Sendable (QueueSnapshot) -> Void)?

    /// Creates a configuration with default settings.
    ///
    /// - Parameters:
    ///   - name: The name of the queue in errors, snapshots and logs.
    ///   - maxConcurrentProcedures: The number of bodies that may execute at a time.
    ///   - isSuspended: Whether the queue starts no procedures until it is resumed.
    public init(
      _ name: String = "ProcedureQueue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false
    ) {
      (self.name, self.isSuspended) = (name, isSuspended)
      self.maxConcurrentProcedures = maxConcurrentProcedures
    }

    /// Creates the core of a queue. `scope` is the failure policy of a scope, which collects the failures itself.
    func makeCore(scope: FailurePolicy? = nil) -> QueueCore {
      require(
        maxConcurrentProcedures >= 1,
        "ProcedureQueue \"\(name)\": maxConcurrentProcedures must be at least 1, got \(maxConcurrentProcedures)"
      )
      require(
        maxWaitingProcedures >= 1,
        "ProcedureQueue \"\(name)\": maxWaitingProcedures must be at least 1, got \(maxWaitingProcedures)"
      )
      require(
        stallTimeout.map { $0 > .zero } ?? true,
        "ProcedureQueue \"\(name)\": stallTimeout must be positive, got \(stallTimeout ?? .zero)")
      for (name, limit) in [
        ("maxConcurrentProceduresPerKey", maxConcurrentProceduresPerKey),
        ("maxWaitingProceduresPerKey", maxWaitingProceduresPerKey),
      ] {
        require(
          limit >= 1,
          "ProcedureQueue \"\(self.name)\": \(name) must be at least 1, got \(limit)")
      }
      return QueueCore(
        name: name, width: maxConcurrentProcedures, isSuspended: isSuspended, clock: clock, executor: executor,
        carriers: contextCarriers, resources: resources,
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
  /// A key that receives work is placed behind the other keys that have work, and is placed behind them again each time one of its
  /// procedures starts. If k keys have work, the first procedure of a key therefore starts after at most k more procedures of its priority,
  /// however long the backlogs of other keys are. All procedures without a key share one turn. Nested runs and nodes of graphs take no
  /// turns: they belong to the turn of the enclosing body.
  case byKey
}

/// The response to a procedure that is added when the number of waiting procedures has reached the limit for the queue or for the key.
public enum QueueOverflow: Sendable, Hashable {
  /// The queue refuses the procedure, which fails with ``ProcedureError/Kind/queueFull``.
  case refuse
  /// The procedure replaces the oldest waiting procedure with the same key.
  ///
  /// The replaced procedure is cancelled, with ``ProcedureError/Kind/replaced`` as the reason. If no waiting procedure has the same key,
  /// the queue refuses the new procedure. ``Procedure/keyed(by:)`` sets the key; all procedures without a key are treated as having the
  /// same key.
  case replaceOldest
  /// The procedure replaces the newest waiting procedure with the same key; see ``replaceOldest``.
  case replaceNewest
}

/// How a queue handles the failures of added procedures.
enum FailureHandling: Sendable {
  /// A scope collects the failures, cancels the other procedures if the policy requires it, and throws at its end. After that, failures are
  /// passed to `afterwards`, as for `unobserved`.
  case scope(FailurePolicy, afterwards: (@Sendable (ProcedureFailure) -> Void)?)
  /// The function is called with each failure that no handle has reported; `nil` logs the failure.
  case unobserved((@Sendable (ProcedureFailure) -> Void)?)
}
