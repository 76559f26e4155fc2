public import ProcedureKit

/// One run, from its admission to its end.
///
/// All times are counted from the beginning of the recording, so that runs of several queues can be compared.
public struct RunRecord: Sendable, Identifiable {
  /// The execution of the body in one attempt.
  public struct Execution: Sendable {
    /// The number of the attempt, from 1.
    public var attempt: Int
    /// The number of the slot; `nil` for a body without one.
    public var slot: Int?
    /// The time at which the body was called.
    public var begin: Duration
    /// The time at which the body ended; `nil` while it executes.
    public var end: Duration?

    /// Creates an execution.
    public init(attempt: Int, slot: Int? = nil, begin: Duration, end: Duration? = nil) {
      (self.attempt, self.slot, self.begin, self.end) = (attempt, slot, begin, end)
    }
  }

  /// The end of a run.
  public enum Outcome: String, Sendable, CaseIterable {
    /// The body has returned a value.
    case finished
    /// A value that was there already was used.
    case reused
    /// The run has failed.
    case failed
    /// A dependency has failed, so that the body was not called.
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
  /// The runs for whose ends this run has waited.
  public var dependencies: [ProcedureID] = []
  /// The time at which the run was admitted.
  public var begin: Duration
  /// The time at which the run ended; `nil` if the run has not.
  public var end: Duration?
  /// The executions of the body, one for each attempt.
  public var executions: [Execution] = []
  /// The end of the run; `nil` if the run has not ended.
  public var outcome: Outcome?
  /// The error, the reason of the cancel, or the name of the reused value or of the condition.
  public var reason: String?
  /// The dependency whose failure began it all, if the run was skipped.
  public var cause: ProcedureIdentity?
  /// Why a node of a durable graph was executed although the journal had a value of the node, or of others of the graph.
  public var executionCause: ExecutionCause?
  /// The time in each part of the run's life.
  public var metrics: ProcedureMetrics?

  /// Creates the record of a run that has not ended.
  public init(id: ProcedureID, name: String, queue: String, begin: Duration) {
    (self.id, self.name, self.queue, self.begin) = (id, name, queue, begin)
  }

  /// How long the bodies of all attempts have executed, without the waits and pauses of inner layers once the run has ended.
  public var executionTime: Duration {
    metrics?.executing
      ?? executions.reduce(.zero) { sum, execution in sum + ((execution.end ?? execution.begin) - execution.begin) }
  }
}
