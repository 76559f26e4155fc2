public import ProcedureKit

/// One run, from its admission to its end.
///
/// All times are measured from the beginning of the recording, so that runs of several queues can be compared.
public struct RunRecord: Sendable, Identifiable {
  /// The execution of the body in one attempt.
  public struct Execution: Sendable {
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// The number of the slot; `nil` for a body without a slot.
    public var slot: Int?
    /// The time that the run waited for the slot; `nil` if it is unknown.
    public var slotWait: Duration?
    /// The time at which the body was called.
    public var begin: Duration
    /// The time at which the body ended; `nil` while it executes.
    public var end: Duration?

    /// Creates an execution.
    public init(attempt: Int, slot: Int? = nil, slotWait: Duration? = nil, begin: Duration, end: Duration? = nil) {
      (self.attempt, self.slot, self.slotWait, self.begin, self.end) = (attempt, slot, slotWait, begin, end)
    }
  }

  /// A body's wait for another run.
  public struct Await: Sendable {
    /// The awaited run.
    public var run: ProcedureID
    /// The time at which the body continued.
    public var end: Duration
    /// The number of the slot in which the body continued; `nil` for a body without a slot.
    public var slot: Int?
    /// The time that the body waited for the slot; `nil` if it is unknown.
    public var slotWait: Duration?

    /// Creates a wait.
    public init(run: ProcedureID, end: Duration, slot: Int? = nil, slotWait: Duration? = nil) {
      (self.run, self.end, self.slot, self.slotWait) = (run, end, slot, slotWait)
    }
  }

  /// The end of a run.
  public enum Outcome: String, Sendable, CaseIterable {
    /// The body has returned a value.
    case finished
    /// An existing value was used.
    case reused
    /// The run has failed.
    case failed
    /// A dependency has failed, so the body was not called.
    case skipped
    /// A condition was not satisfied.
    case ignored
    /// The run was cancelled.
    case cancelled
  }

  /// The identity of the run.
  public var id: ProcedureID
  /// The name of the procedure.
  public var name: String
  /// The name of the queue.
  public var queue: String
  /// The run whose body has started this run, or the run of the graph of this node.
  public var parent: ProcedureID?
  /// The run of the graph, if this run is a node.
  public var graph: ProcedureID?
  /// The runs for which this run waited before it started.
  public var dependencies: [ProcedureID] = []
  /// The waits of the body for other runs, in the order of their ends.
  ///
  /// A record contains the first 10,000 waits of a run; the time of later waits counts as execution time.
  public var awaits: [Await] = []
  /// The collection of which the run is an element: the name of a `map`.
  public var collection: String?
  /// The time at which the run was admitted.
  public var begin: Duration
  /// The time at which the run ended; `nil` if the run has not ended.
  public var end: Duration?
  /// The executions of the body, one for each attempt.
  public var executions: [Execution] = []
  /// The end of the run; `nil` if the run has not ended.
  public var outcome: Outcome?
  /// The error, the reason for the cancellation, or the name of the reused value or of the condition.
  public var reason: String?
  /// The dependency that failed first, if the run was skipped.
  public var cause: ProcedureIdentity?
  /// The reason why a node of a durable graph was executed although the journal had values of the graph.
  public var executionCause: ExecutionCause?
  /// The time that the run spent in each phase.
  public var metrics: ProcedureMetrics?

  /// Creates the record of a run that has not ended.
  public init(id: ProcedureID, name: String, queue: String, begin: Duration) {
    (self.id, self.name, self.queue, self.begin) = (id, name, queue, begin)
  }

  /// The execution time of the bodies of all attempts. After the end of the run, waits and pauses of inner layers are not included.
  public var executionTime: Duration {
    metrics?.executing
      ?? executions.reduce(.zero) { sum, execution in sum + ((execution.end ?? execution.begin) - execution.begin) }
  }
}
