extension ProcedureQueue {
  /// The settings of a queue. Change the settings that should differ from the defaults, and then create the queue.
  ///
  /// ```swift
  /// var configuration = ProcedureQueue.Configuration("uploads", maxConcurrentProcedures: 4)
  /// configuration.maxWaitingProcedures = 1_000
  /// let queue = ProcedureQueue(configuration)
  /// ```
  ///
  /// A configuration is a value: you can use one configuration to create many queues, and later changes do not affect queues that already
  /// exist.
  public struct Configuration: Sendable {
    /// The name of the queue in errors, snapshots and logs.
    public var name: String

    /// The maximum number of bodies that can execute at a time. If the value is below 1, creating the queue traps.
    public var maxConcurrentProcedures: Int

    /// Whether the queue is created suspended. A suspended queue starts only procedures that executing bodies call, until it is resumed.
    public var isSuspended: Bool

    /// The clock for events, pauses and timeouts.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// The executor on which bodies execute; `nil` to use the global executor.
    ///
    /// `run` also executes the body on this executor. If the value is `nil`, a nested `run` executes on the executor of the enclosing body.
    /// If the clock is one of the system's clocks, timeouts, delays and the grace period of `shutDown` do not depend on the executor, so
    /// they take effect even if all of its threads are blocked. Hooks and conditions are executed on the executor.
    public var executor: (any TaskExecutor)?

    /// The maximum number of added procedures that can be waiting to start, for any reason. If the value is below 1, creating the queue
    /// traps.
    ///
    /// An added procedure counts towards the limit until a worker starts it, even if a slot is free. Children that a body produces do not
    /// count. Procedures that are executed by `run` do not count either, because they wait in the caller's task. A procedure that pauses
    /// between two attempts counts as waiting again, even if the limit is exceeded as a result.
    public var maxWaitingProcedures = Int.max

    /// For each key, the maximum number of added procedures that can be waiting to start. If the value is below 1, creating the queue
    /// traps.
    ///
    /// The limit applies in addition to ``maxWaitingProcedures``. Procedures without a key (``Procedure/keyed(by:weight:)``) are not
    /// limited.
    public var maxWaitingProceduresPerKey = Int.max

    /// The order in which procedures of equal priority start.
    public var fairness: QueueFairness = .admissionOrder

    /// The time after which the priority of a procedure that is waiting for a slot rises by one level; `nil` if priorities do not rise.
    ///
    /// If the duration is zero or less, creating the queue traps.
    ///
    /// Without this setting, a stream of procedures with high priorities can keep procedures with lower priorities from starting. With it,
    /// the priority of a waiting procedure rises by one level after each interval: from `background` to `low`, `medium`, `high`, and
    /// finally to the raw value 33. On Apple platforms, this is the priority of the main thread. After waiting for four intervals, a
    /// procedure of any priority therefore starts before all procedures that are added later, unless their priorities have raw values above
    /// 33. If keys take turns, the procedure starts in the first turn of its key that is not used by an earlier procedure.
    ///
    /// A procedure ages only while it is waiting for a slot of the queue or of its key, and for nothing else. Time during which the queue
    /// is suspended does not count. The interval starts over if the priority is changed in another way, for example by
    /// ``ProcedureQueue/setPriority(_:of:)``. Ageing affects only the order in which waiting procedures get slots. When a procedure gets a
    /// slot, its raised priority no longer applies. Its children and its later attempts age separately while they wait. The queue needs no
    /// timer for ageing, because priorities rise only when a slot becomes free.
    ///
    /// - Complexity: Freeing a slot takes O(k log n) if the priorities of k of n waiting procedures rise at that time.
    public var ageingInterval: Duration?

    /// For each key, the maximum number of bodies that can execute at a time. If the value is below 1, creating the queue traps.
    ///
    /// Only bodies that hold a slot count towards the limit. A body that calls the library to wait for other work releases its slot, which
    /// another procedure with the same key can then take. The body continues when the key has capacity again. A retry or a repetition does
    /// not count during its pauses. A body therefore never waits for capacity that it occupies itself. A procedure that is waiting because
    /// its key is at the limit keeps its resources, like a procedure that is waiting for a slot. Procedures without a key
    /// (``Procedure/keyed(by:weight:)``) are not limited.
    public var maxConcurrentProceduresPerKey = Int.max

    /// The policy that applies when the number of waiting procedures would exceed ``maxWaitingProcedures`` or
    /// ``maxWaitingProceduresPerKey``.
    public var overflow: QueueOverflow = .refuse

    /// The task-local values that `add` carries from the caller to the body.
    public var contextCarriers: [ContextCarrier] = []

    /// The table in which procedures claim resources.
    public var resources: ResourceTable = .shared

    /// A function that wraps the body of every procedure on the queue, including the nodes of graphs.
    ///
    /// It can bind task-local values or take measurements. `next` executes the body and throws the body's error.
    ///
    /// ```swift
    /// configuration.interceptor = { context, next in
    ///   try await Tracing.$span.withValue(Span(context.name)) { try await next() }
    /// }
    /// ```
    ///
    /// The interceptor is called after the hooks that precede the body, while the procedure holds its slot and resources. If a procedure
    /// retries or repeats, the interceptor is called for each attempt, and sees the error of each attempt. If the interceptor throws, the
    /// procedure fails. The interceptor cannot change the result of the body. If it returns without calling `next`, the procedure fails
    /// with ``ProcedureError/Kind/bodySkipped``. To intercept a single procedure, use ``Procedure/intercepted(_:)``.
    public var interceptor:
      (
        @concurrent @Sendable (
          _ context: ProcedureContext, _ next: @escaping @concurrent @Sendable () async throws -> Void
        ) async throws -> Void
      )?

    /// The seed for random delays in schedules; `nil` to use a random seed. A fixed seed makes tests repeatable.
    public var seed: UInt64?

    /// The log of the queue; `nil` to use the value that ``ProcedureLog/shared`` has when a message is written.
    public var log: ProcedureLog?

    /// Whether the queue counts its procedures and measures how long they take; see ``QueueSnapshot/totals``.
    ///
    /// Collecting totals costs about as much per procedure as one subscriber to the queue's events.
    public var collectsTotals = false

    /// A function to call with each failure that can no longer be observed through a handle; `nil` to log a warning.
    ///
    /// A failure is unobserved if the last handle is released before any code reads its `value`, `result` or `outcome`, subscribes to its
    /// events, or depends on the procedure. A failure that a model of the queue (`ProcedureQueueModel` in `ProcedureKitFoundation`) has
    /// shown by then is considered observed. Within ``withProcedureQueue(_:onFailure:_:)``, a failure is thrown instead. The function is
    /// called in the task that releases the last handle, and must return quickly.
    public var onUnobservedFailure: (@Sendable (ProcedureFailure) -> Void)?

    /// The time without progress after which the queue is considered stalled and calls ``onStall``; `nil` to disable the check.
    ///
    /// If the duration is zero or less, creating the queue traps.
    ///
    /// A queue is stalled if it has procedures but none of them has started, finished, or begun or ended a wait within this time. For
    /// example, a body may be waiting for an answer that never arrives, or may be computing for longer than this time. A suspended queue
    /// does not stall. Nor does a queue while a timer is pending for one of its procedures, for example for a pause, a timeout or a
    /// deadline. The queue will make progress when the timer fires. Adding procedures to a stalled queue does not count as progress.
    ///
    /// While the queue has procedures, the check keeps one timer pending on ``clock``. The delay between the last progress and the report
    /// of a stall is at least this time and at most twice this time.
    public var stallTimeout: Duration?

    /// A function to call with a snapshot of the queue when the queue stalls; `nil` to log the snapshot as a warning.
    ///
    /// The function is called once for each stall, and not again until the queue makes progress.
    ///
    /// The function is called in the task that runs the queue's timers, and must return quickly.
    public var onStall: (@Sendable (QueueSnapshot) -> Void)?

    /// Creates a configuration with default settings.
    ///
    /// - Parameters:
    ///   - name: The name of the queue in errors, snapshots and logs.
    ///   - maxConcurrentProcedures: The maximum number of bodies that can execute at a time.
    ///   - isSuspended: Whether the queue is created suspended. A suspended queue starts only procedures that executing bodies call, until
    ///     it is resumed.
    public init(
      _ name: String = "ProcedureQueue", maxConcurrentProcedures: Int = .max, isSuspended: Bool = false
    ) {
      (self.name, self.isSuspended) = (name, isSuspended)
      self.maxConcurrentProcedures = maxConcurrentProcedures
    }

    /// Creates the core of a queue. If the queue belongs to a scope, `scope` is the scope's failure policy, and the scope collects the
    /// failures.
    func makeCore(scope: FailurePolicy? = nil) -> QueueCore {
      for (setting, limit) in [
        ("maxConcurrentProcedures", maxConcurrentProcedures), ("maxWaitingProcedures", maxWaitingProcedures),
        ("maxConcurrentProceduresPerKey", maxConcurrentProceduresPerKey),
        ("maxWaitingProceduresPerKey", maxWaitingProceduresPerKey),
      ] {
        requirePositive(limit, "ProcedureQueue \"\(name)\": \(setting)")
      }
      for case (let setting, let time?) in [("stallTimeout", stallTimeout), ("ageingInterval", ageingInterval)] {
        require(time > .zero, "ProcedureQueue \"\(name)\": \(setting) must be positive, got \(time)")
      }
      return QueueCore(self, scopePolicy: scope)
    }
  }
}

/// The order in which a queue starts procedures of equal priority.
@nonexhaustive
public enum QueueFairness: Sendable, Hashable {
  /// Procedures start in order of admission.
  case admissionOrder
  /// Keys take turns, and procedures with the same key start in order of admission. ``Procedure/keyed(by:weight:)`` sets the key.
  ///
  /// When work arrives for a key that had none, the key is placed behind the other keys that have work. It moves behind them again each
  /// time its turn ends. The weight of the key is the number of procedures that start in each turn (deficit round robin). If k keys of
  /// weight 1 have work, the first procedure with a new key therefore starts after at most k other procedures of the same priority. The
  /// backlogs of the other keys do not matter. In this calculation, a key of weight w is equivalent to w keys. All procedures without a key
  /// share the turn of one key of weight 1. Nested runs and nodes of graphs do not take turns: they belong to the turn of the enclosing
  /// body.
  case byKey
}

/// A policy for procedures that are added when the number of waiting procedures has reached the limit for the queue or the key.
@nonexhaustive
public enum QueueOverflow: Sendable, Hashable {
  /// The queue refuses the procedure, which fails with ``ProcedureError/Kind/queueFull``.
  case refuse
  /// The procedure replaces the oldest waiting procedure with the same key.
  ///
  /// The replaced procedure is cancelled, with ``ProcedureError/Kind/replaced`` as the reason. If no waiting procedure has the same key,
  /// the queue refuses the new procedure. ``Procedure/keyed(by:weight:)`` sets the key; all procedures without a key are treated as having
  /// the same key.
  case replaceOldest
  /// The procedure replaces the newest waiting procedure with the same key; see ``replaceOldest``.
  case replaceNewest
}
