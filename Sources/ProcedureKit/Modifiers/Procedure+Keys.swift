extension Procedure {
  /// Returns the procedure with a key, which identifies for whom the procedure runs: a tenant, a user, a document.
  ///
  /// On a queue with ``QueueFairness/byKey``, keys take turns. ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey`` and
  /// ``ProcedureQueue/Configuration/maxWaitingProceduresPerKey`` limit each key, and a full queue replaces only a procedure with the same
  /// key; see ``QueueOverflow``. String keys are compared byte by byte. By default, a key changes nothing.
  ///
  /// Of several keys, the last one applies. The key of a procedure that is passed to ``then(_:)``, or that serves as a fallback, does not
  /// apply: set the key on the result. Produced children, nested runs and nodes of graphs without a key have the key of the enclosing body;
  /// a procedure that a body adds to a queue does not. A node with a key needs a slot for this key to execute. Keys are compared as
  /// `AnyHashable` values. `==` and `hash(into:)` are called without a lock.
  public func keyed(by key: some Hashable & Sendable) -> ProcedureTask<Input, Output> {
    procedureTask.relabelled { $0.key = InternedKey.of(key) }
  }

  /// Returns the procedure with an execution that all runs with the same key share.
  ///
  /// ```swift
  /// let token = RefreshToken().retry(.constant(.seconds(1)), maxAttempts: 3).coalesced(by: account)
  /// ```
  ///
  /// The first run executes, and runs with the same key that start in the meantime receive its value or its error. The key applies to
  /// procedures with the same name and type of value, on the same queue. A procedure that a body calls without a queue belongs to the queue
  /// of the body; all calls without a queue outside of a body belong together. The input is not compared: equal keys mean equal work. With
  /// `scope`, the key applies to all procedures with this scope and type of value, regardless of their names and queues.
  ///
  /// A pause of the execution, such as the pause between two attempts, does not end the sharing: the execution has one result for all runs.
  /// A waiting run holds neither a slot nor resources of the procedure. If the executing run is cancelled, the next waiting run executes.
  /// Cancelling a waiting run ends its wait immediately, and does not affect the others.
  ///
  /// - Parameters:
  ///   - key: The identity of the work.
  ///   - scope: The procedures that share executions; `nil` for the procedures with the same name on the same queue.
  /// - Returns: The procedure with the shared execution. An execution that depends on itself, directly or through other procedures, fails with
  ///   ``ProcedureError/Kind/exclusionDeadlock``.
  public func coalesced(by key: some Hashable & Sendable, in scope: CoalescingScope? = nil) -> ProcedureTask<
    Input, Output
  > {
    .coalesced(procedureTask, by: InternedKey.of(key), in: scope)
  }
}

/// A set of executions that procedures share, regardless of their names and queues; see ``Procedure/coalesced(by:in:)``.
///
/// ```swift
/// let tokens = CoalescingScope()
/// let refresh = RefreshToken().coalesced(by: account, in: tokens)
/// let renew = ProcedureTask("renew") { try await service.token() }.coalesced(by: account, in: tokens)
/// ```
///
/// Create a scope in the object that owns the work, and keep it there: two scopes share nothing. A scope holds an execution only while a
/// run performs it.
public final class CoalescingScope: Sendable {
  let executions = SharedWorkTable()

  /// Creates a scope without executions.
  public init() {}

  /// The number of executions that are in progress.
  public var count: Int { executions.count }
}
