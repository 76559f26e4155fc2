public import ProcedureKit

/// The record of one run, from its admission to its end.
///
/// All times are measured from the beginning of the recording, so that runs on several queues can be compared.
public struct RunRecord: Sendable, Identifiable {
  /// The execution of the body in one attempt.
  public struct Execution: Sendable {
    /// The number of the attempt, starting at 1.
    public var attempt: Int
    /// The number of the slot; `nil` if the body executed without a slot.
    public var slot: Int?
    /// How long the run waited for the slot; `nil` if this is unknown.
    public var slotWait: Duration?
    /// The time at which the body was called.
    public var begin: Duration
    /// The time at which the body ended; `nil` if it has not ended.
    public var end: Duration?
    /// Whether the attempt failed and was followed by a retry.
    public var isRetried = false

    /// Creates an execution.
    public init(attempt: Int, slot: Int? = nil, slotWait: Duration? = nil, begin: Duration, end: Duration? = nil) {
      (self.attempt, self.slot, self.slotWait, self.begin, self.end) = (attempt, slot, slotWait, begin, end)
    }
  }

  /// A period during which a body waited for another run.
  public struct Await: Sendable {
    /// The run that was awaited.
    public var run: ProcedureID
    /// The time at which the body continued.
    public var end: Duration
    /// The number of the slot in which the body continued; `nil` if it continued without a slot.
    public var slot: Int?
    /// How long the body waited for the slot; `nil` if this is unknown.
    public var slotWait: Duration?

    /// Creates a wait.
    public init(run: ProcedureID, end: Duration, slot: Int? = nil, slotWait: Duration? = nil) {
      (self.run, self.end, self.slot, self.slotWait) = (run, end, slot, slotWait)
    }
  }

  /// How a run ended.
  @nonexhaustive
  public enum Outcome: String, Sendable, CaseIterable {
    /// The body returned a value.
    case finished
    /// An existing value was used, so the body was not called.
    case reused
    /// The run failed.
    case failed
    /// A dependency failed, so the body was not called.
    case skipped
    /// A condition was not satisfied, so the body was not called.
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
  /// The run whose body started this run, if any. For a node, this is the run of the graph.
  public var parent: ProcedureID?
  /// The run of the graph that contains this node; `nil` if this run is not a node.
  public var graph: ProcedureID?
  /// The runs that this run depended on.
  public var dependencies: [ProcedureID] = []
  /// The runs whose values this run requested by key, in the order of the requests.
  ///
  /// A record contains the first 10,000 requests of a run. If a body requests a value twice, the record contains both requests.
  public var requests: [ProcedureID] = []
  /// The body's waits for other runs, in the order in which they ended.
  ///
  /// A record contains the first 10,000 waits of a run. The time that a run spends in later waits is included in its execution time.
  public var awaits: [Await] = []
  /// The name of the `map`, if the run is one of its elements.
  public var collection: String?
  /// The time at which the run was admitted.
  public var begin: Duration
  /// The time at which the run ended; `nil` if the run has not ended.
  public var end: Duration?
  /// The executions of the body, one for each attempt.
  public var executions: [Execution] = []
  /// How the run ended; `nil` if it has not ended.
  public var outcome: Outcome?
  /// The reason for the outcome: the error, the reason for the cancellation, the source of the reused value, or the name of the condition.
  public var reason: String?
  /// The run that failed first, which may be an indirect dependency; `nil` if this run was not skipped.
  public var cause: ProcedureIdentity?
  /// The reason a node of a durable graph was executed even though the journal contained values from the graph.
  public var executionCause: ExecutionCause?
  /// The time that the run spent in each phase.
  public var metrics: ProcedureMetrics?

  /// Creates the record of a run that has not ended.
  public init(id: ProcedureID, name: String, queue: String, begin: Duration) {
    (self.id, self.name, self.queue, self.begin) = (id, name, queue, begin)
  }

  /// The total execution time of the body in all attempts. Once the run has ended, the time does not include waits or pauses in inner
  /// modifiers.
  public var executionTime: Duration {
    metrics?.executing
      ?? executions.reduce(.zero) { sum, execution in sum + ((execution.end ?? execution.begin) - execution.begin) }
  }
}
