/// The state of a queue at one point in time: the procedures on the queue, and what each of them is waiting for.
///
/// A graph's executing and waiting nodes are listed after the graph, which is their parent. Nodes whose dependencies have not finished are
/// not listed.
///
/// A snapshot can be encoded for other programs, for example as JSON. The guide <doc:SnapshotFormat> documents the format.
public struct QueueSnapshot: Sendable {
  /// The queue's name.
  public let name: String
  /// The instant at which the snapshot was taken, on the queue's clock. To find out how much of a pause is left, subtract this instant from
  /// the instant in ``Wait/pause(until:)``.
  public let instant: ProcedureInstant
  /// The maximum number of bodies that can execute at a time.
  public let maxConcurrentProcedures: Int
  /// The number of slots in use.
  public let slotsInUse: Int
  /// The maximum number of added procedures that can be waiting; see ``ProcedureQueue/Configuration/maxWaitingProcedures``.
  public let maxWaitingProcedures: Int
  /// For each key, the maximum number of bodies that can execute at a time; see
  /// ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey``.
  public let maxConcurrentProceduresPerKey: Int
  /// For each key, the maximum number of added procedures that can be waiting; see
  /// ``ProcedureQueue/Configuration/maxWaitingProceduresPerKey``.
  public let maxWaitingProceduresPerKey: Int
  /// Whether the queue is suspended. A suspended queue starts only procedures that executing bodies call, until it is resumed.
  public let isSuspended: Bool
  /// Whether the queue has been shut down. If so, it admits no further procedures.
  public let isShutDown: Bool
  /// The counts, times and latencies of the queue's procedures; `nil` unless ``ProcedureQueue/Configuration/collectsTotals`` is `true`.
  public let totals: QueueTotals?
  /// All procedures that have not finished, in order of admission.
  public internal(set) var procedures: [Entry]

  /// One procedure on the queue.
  public struct Entry: Sendable {
    /// The ID and the name of the run.
    public let procedure: ProcedureIdentity
    /// The state of the run.
    public let state: ProcedureState
    /// The run whose body called or produced this run. The parent of a node is its graph. The value is `nil` for a top-level run.
    public let parent: ProcedureIdentity?
    /// The description of the run's key, or of the enclosing run's key; see ``Procedure/keyed(by:weight:)``.
    public let key: String?
    /// The number of the slot in which the body executes; see ``ProcedureEvent/slot``.
    ///
    /// The value is `nil` if the body has no slot, or if the queue has no subscriber and collects no totals. A node uses the slot of its
    /// graph's worker. This slot is shown only for a node with modifiers.
    public let slot: Int?
    /// The progress of the run, if progress is being reported or read; see ``ProgressReporter``. The value is `nil` for nodes without
    /// modifiers.
    public let progress: Double?
    /// The reason a durable graph executes this node even though the journal contains values from the graph. The value is `nil` for
    /// every other run.
    public let executionCause: ExecutionCause?
    /// The reason the run is waiting; `nil` while the body is working, or is waiting for something outside the library.
    public let wait: Wait?
  }

  /// The reason a procedure is waiting.
  @nonexhaustive
  public enum Wait: Hashable, Sendable {
    /// The procedure is waiting for dependencies.
    case dependencies([ProcedureIdentity])
    /// The conditions with these names are being evaluated.
    case conditions([String])
    /// The queue is suspended.
    case resumption
    /// Other runs hold resources that the procedure claims, or are ahead of it in line for them.
    case resources([ExclusionWait])
    /// Other runs hold the slots, or are ahead of the procedure in line.
    case slot
    /// Other runs with this key hold all of the `limit` slots that a key can use, or are ahead of the procedure in line. See
    /// ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey``.
    case key(String, limit: Int)
    /// The procedure is pausing: in a delay, or between two attempts or repetitions. `until` is the end of the pause, if known.
    case pause(until: ProcedureInstant?)
    /// The body is waiting for these procedures and has released its slot.
    case procedures([ProcedureIdentity])
    /// The body is waiting for the queue with this name to become idle.
    case idleness(of: String)
    /// The body is waiting for room in the full queue with this name.
    case room(on: String)
    /// The body is waiting for an event from the procedure or queue with this name.
    case events(of: String)
    /// These children of the body have not finished. The body itself has ended or is waiting.
    case children([ProcedureIdentity])
    /// The graph is waiting for its nodes.
    case nodes
    /// The node is waiting until fewer than this many nodes are executing; see ``ProcedureGraph/maxConcurrentNodes(_:)``.
    case graphLimit(Int)
    /// The procedure is waiting for its turn at a ``RateLimiter``.
    case rateLimit
  }
}

extension QueueSnapshot: CustomStringConvertible {
  /// The snapshot as it appears in logs: one line for the queue, followed by one line for each procedure.
  public var description: String {
    let head =
      "queue \(name.quoted): \(slotsInUse.counting("slot")) in use"
      + "\(isSuspended ? ", suspended" : "")\(isShutDown ? ", shut down" : "")"
    return ([head] + procedures.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension QueueSnapshot.Entry: CustomStringConvertible {
  /// The procedure as it appears in logs: `"mail" (#6) pending, waits for "copy" (#2) to finish`.
  public var description: String {
    "\(procedure)\(key.map { " with key \($0.quoted)" } ?? "") \(state)\(wait.map { ", waits for \($0)" } ?? "")"
      + (executionCause.map { " (again because \($0))" } ?? "")
  }
}

extension QueueSnapshot.Wait: CustomStringConvertible {
  /// The reason for the wait, as it appears in logs.
  public var description: String {
    switch self {
    case .dependencies(let procedures), .procedures(let procedures):
      procedures.map(\.description).sentenceList + " to finish"
    case .conditions(let names):
      (names.count == 1 ? "its condition " : "its conditions ") + names.map(\.quoted).sentenceList
    case .resources([]): "its turn to claim resources"
    case .resources(let waits):
      waits.map { $0.object(naming: \.description) }.joined(separator: ", and ")
    case .resumption: "the queue to be resumed"
    case .slot: "a slot"
    case .key(let key, let limit):
      (limit == 1 ? "the slot" : "one of the \(limit) slots") + " of its key \(key.quoted)"
    case .pause(let end): end.map { "the end of its pause, at \($0)" } ?? "the end of its pause"
    case .idleness(let queue): "all procedures on the queue \(queue.quoted) to finish"
    case .room(let queue): "room in the queue \(queue.quoted)"
    case .events(let name): "an event from \(name.quoted)"
    case .children(let children):
      (children.count == 1 ? "its child " : "its children ") + children.map(\.description).sentenceList + " to finish"
    case .nodes: "its nodes to finish"
    case .graphLimit(let limit):
      "its turn in its graph, which executes at most \(limit.counting("node")) at a time"
    case .rateLimit: "its turn at a rate limiter"
    }
  }
}

extension ProcedureQueue {
  /// Returns the procedures that are currently on the queue, and what each of them is waiting for.
  ///
  /// The function can be called from anywhere, including synchronous code.
  ///
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func snapshot() -> QueueSnapshot { core.snapshot() }
}
