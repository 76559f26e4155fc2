extension Procedure {
  /// Returns the procedure with a key, which identifies the tenant, user, document or other entity that the procedure runs for.
  ///
  /// On a queue whose fairness is ``QueueFairness/byKey``, keys take turns. ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey``
  /// and ``ProcedureQueue/Configuration/maxWaitingProceduresPerKey`` set limits for each key, and a full queue replaces only procedures
  /// with the same key; see ``QueueOverflow``. With the default configuration, a key has no effect. String keys are compared byte by byte.
  ///
  /// The weight is the number of procedures that start in each turn of the key, if that many procedures of the same priority are waiting.
  /// For example, if procedures with two keys of weights 1 and 3 are always waiting, one procedure with the first key starts, then three
  /// procedures with the second key, and so on. Between two turns of a key, the number of procedures that start is at most the sum of the
  /// other keys' weights. Therefore, no key starves, however small its weight is. If procedures with the same key have different weights,
  /// the weight of the procedure that was admitted last applies. A weight has no effect on a queue whose keys do not take turns.
  ///
  /// If several keys are set, the last one applies. The key of a procedure that is passed to ``then(_:)``, or used as a fallback, has no
  /// effect. Set the key on the returned procedure instead. Children that a body produces, nested runs, and graph nodes use the key of the
  /// enclosing body if they have no key of their own. Procedures that a body adds to a queue do not use its key. A node with a key can
  /// execute only in a slot for that key. Keys are compared as `AnyHashable` values. No lock is held while their `==` and `hash(into:)` are
  /// called.
  ///
  /// - Parameters:
  ///   - key: The key of the entity.
  ///   - weight: The weight of the key. Passing a number below 1 traps.
  /// - Returns: The procedure with the key.
  public func keyed(by key: some Hashable & Sendable, weight: Int = 1) -> ProcedureTask<Input, Output> {
    require(weight >= 1, "\"\(name)\": keyed(by:weight:) needs a weight of at least 1, got \(weight)")
    return procedureTask.relabelled { $0.key = ModifierLayer.WeightedKey(value: InternedKey.of(key), weight: weight) }
  }

  /// Returns a procedure whose concurrent runs share one execution if they have the same key.
  ///
  /// ```swift
  /// let token = RefreshToken().retry(.constant(.seconds(1)), maxAttempts: 3).coalesced(by: account)
  /// ```
  ///
  /// The first run executes the procedure. Runs with the same key that start during this execution receive its value or its error. By
  /// default, an execution is shared only by procedures on the same queue that have the same name and the same type of value. A procedure
  /// that a body calls without a queue is treated as if it were on the body's queue. All calls that are made without a queue and outside of
  /// any body are treated as if they were on one queue. Inputs are not compared, so use equal keys only for equal work, or compute the key
  /// from the input (``coalesced(in:by:)``). Procedures that were created without a name all have the same name. If a `scope` is given, all
  /// procedures with this scope and the same type of value share executions, regardless of their names and queues.
  ///
  /// A pause in an execution, for example between two attempts, does not end the execution, so all runs receive the same result. A waiting
  /// run holds neither a slot nor any of the procedure's resources. If the executing run is cancelled, the next waiting run executes the
  /// procedure. Cancelling a waiting run ends its wait immediately and does not affect the other runs.
  ///
  /// - Parameters:
  ///   - key: The identity of the work.
  ///   - scope: The scope in which executions are shared; `nil` to share them among the procedures with the same name on the same queue.
  /// - Returns: A procedure whose runs share executions. An execution that depends on itself, directly or through other procedures, fails
  ///   with ``ProcedureError/Kind/exclusionDeadlock``.
  @_disfavoredOverload
  public func coalesced(by key: some Hashable & Sendable, in scope: CoalescingScope? = nil) -> ProcedureTask<
    Input, Output
  > {
    .coalesced(procedureTask, by: InternedKey.of(key), in: scope)
  }

  /// Returns a procedure whose concurrent runs share one execution if the keys computed from their inputs are equal.
  ///
  /// ```swift
  /// let thumbnail = RenderThumbnail().coalesced { photo in photo.id }
  /// ```
  ///
  /// The procedure behaves like one with a constant key; see ``coalesced(by:in:)-(HashableSendable,_)``.
  ///
  /// - Parameters:
  ///   - scope: The scope in which executions are shared; `nil` to share them among the procedures with the same name on the same queue.
  ///   - key: A function that returns the identity of the work for an input. It is called for each run, and for each attempt of a retry
  ///     around this procedure. It must return quickly; see ``configured(_:)``.
  /// - Returns: A procedure whose runs share executions.
  public func coalesced<Key: Hashable & Sendable>(
    in scope: CoalescingScope? = nil, by key: @escaping @Sendable (_ input: Input) -> Key
  ) -> ProcedureTask<Input, Output> {
    configured { input, procedure in procedure.coalesced(by: key(input), in: scope) }
  }

  /// Returns a procedure whose concurrent runs share one execution if a property of their inputs is equal.
  ///
  /// ```swift
  /// let thumbnail = RenderThumbnail().coalesced(by: \.id)
  /// ```
  ///
  /// The procedure behaves like one with a constant key; see ``coalesced(by:in:)-(HashableSendable,_)``.
  ///
  /// - Parameters:
  ///   - key: The key path of the identity of the work in an input.
  ///   - scope: The scope in which executions are shared; `nil` to share them among the procedures with the same name on the same queue.
  /// - Returns: A procedure whose runs share executions.
  public func coalesced<Key: Hashable & Sendable>(
    by key: any KeyPath<Input, Key> & Sendable, in scope: CoalescingScope? = nil
  ) -> ProcedureTask<Input, Output> {
    coalesced(in: scope) { input in input[keyPath: key] }
  }
}

/// A set of executions that procedures share, regardless of their names and queues; see
/// ``Procedure/coalesced(by:in:)-(HashableSendable,_)``.
///
/// ```swift
/// let tokens = CoalescingScope()
/// let refresh = RefreshToken().coalesced(by: account, in: tokens)
/// let renew = ProcedureTask("renew") { try await service.token() }.coalesced(by: account, in: tokens)
/// ```
///
/// Create a scope in the object that owns the work, and keep it there, because executions are not shared between scopes. A scope retains an
/// execution only while it is in progress.
public final class CoalescingScope: Sendable {
  let executions = SharedWorkTable()

  /// Creates a scope without executions.
  public init() {}

  /// The number of executions that are in progress.
  public var count: Int { executions.count }
}
