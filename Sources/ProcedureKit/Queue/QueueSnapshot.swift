/// A queue at one moment: the procedures on the queue, and the wait of each procedure.
///
/// A graph is one procedure. The waits of the nodes are shown as waits of the graph, and the graph's workers are among the
/// slots in use.
public struct QueueSnapshot: Sendable {
  /// The queue's name.
  public let name: String
  /// How many bodies may execute at once.
  public let maxConcurrentProcedures: Int
  /// How many slots are taken at this moment.
  public let slotsInUse: Int
  /// Whether the queue starts no procedure until the queue is resumed.
  public let isSuspended: Bool
  /// Every procedure that has not finished, in order of admission.
  public let procedures: [Entry]

  /// One procedure on the queue.
  public struct Entry: Sendable {
    /// The id and the name of the run.
    public let procedure: ProcedureIdentity
    /// The state of the run.
    public let state: ProcedureState
    /// The run whose body has produced this run; `nil` for a run that was not produced.
    public let producer: ProcedureIdentity?
    /// The wait of the run; `nil` while the body works, or waits for an event.
    public let wait: Wait?
  }

  /// The wait that keeps a procedure from going on.
  public enum Wait: Sendable, Hashable {
    /// The procedure waits for dependencies.
    case dependencies([ProcedureIdentity])
    /// The conditions of these names are being evaluated.
    case conditions([String])
    /// The queue is suspended.
    case resumption
    /// Other runs hold resources that the procedure claims. The array is empty if the procedure only stands behind earlier
    /// claims.
    case resources([ExclusionWait])
    /// Other runs hold the slots, or come first.
    case slot
    /// The procedure pauses between two attempts, or before the first. `until` is the end of the pause, if known.
    case pause(until: ProcedureInstant?)
    /// The body awaits another procedure, or a queue, and lends the slot meanwhile.
    case otherProcedures
    /// The body has ended or waits, and children that the body has produced have not finished.
    case children([ProcedureIdentity])
  }
}

extension QueueSnapshot: CustomStringConvertible {
  /// The queue in logs: a line for the queue, and a line for each procedure.
  public var description: String {
    let head =
      "queue \"\(name)\": \(slotsInUse) \(slotsInUse == 1 ? "slot" : "slots") in use\(isSuspended ? ", suspended" : "")"
    return ([head] + procedures.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension QueueSnapshot.Entry: CustomStringConvertible {
  /// The procedure in logs: `"mail" (#6) pending, waits for "copy" (#2)`.
  public var description: String {
    "\(procedure) \(state)\(wait.map { ", waits for \($0)" } ?? "")"
  }
}

extension QueueSnapshot.Wait: CustomStringConvertible {
  /// The awaited procedures, conditions or resources, in logs.
  public var description: String {
    switch self {
    case .dependencies(let procedures): procedures.map(\.description).joined(separator: ", ")
    case .conditions(let names): "its conditions " + names.map { "\"\($0)\"" }.joined(separator: ", ")
    case .resources([]): "its turn to claim what it needs"
    case .resources(let waits): waits.map { "\"\($0.resource)\", which \($0.holder) holds" }.joined(separator: ", ")
    case .resumption: "the queue to be resumed"
    case .slot: "a slot"
    case .pause(let end): end.map { "the end of its pause, at \($0)" } ?? "the end of its pause"
    case .otherProcedures: "other procedures"
    case .children(let children): "what it has produced: " + children.map(\.description).joined(separator: ", ")
    }
  }
}

extension ProcedureQueue {
  /// Returns the procedures on the queue at this moment, with the wait of each procedure.
  ///
  /// The function can be called from anywhere, including synchronous code.
  ///
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func snapshot() -> QueueSnapshot {
    let (machine, runs) = core.withState { state in
      (state.machine, state.machine.present.compactMap { state.machine[$0].payload })
    }
    let parts = Dictionary(grouping: runs, by: { ObjectIdentifier($0.reported) })
    let entries = runs.filter(\.isReported).map { run in
      QueueSnapshot.Entry(
        procedure: run.identity, state: run.state, producer: run.kind == .added ? run.parent?.identity : nil,
        wait: (parts[ObjectIdentifier(run)] ?? [run]).lazy.compactMap { Self.wait(of: $0, machine) }.first { _ in true }
      )
    }
    return QueueSnapshot(
      name: core.name, maxConcurrentProcedures: machine.width, slotsInUse: machine.slotsTaken,
      isSuspended: machine.isSuspended, procedures: entries)
  }

  /// Returns the wait of one run, or of one level of a run.
  private static func wait(of run: Run, _ machine: QueueMachine<Run>) -> QueueSnapshot.Wait? {
    let (phase, isReturning, wait, pauseEnd, dependencies, children) = run.core.withState { state in
      (
        run.member >= 0 ? state.machine[run.member].phase : .finished,
        run.member >= 0 && state.machine[run.member].isReturning, run.details?.waits.values.first,
        run.details?.pauseEnd, run.details?.dependencies ?? [],
        run.details?.children.values.filter { $0.kind == .added }.map(\.identity) ?? []
      )
    }
    switch phase {
    case .pending:
      return .dependencies(
        dependencies.filter { ($0 as? any RunDependency)?.dependencyRun.outcome == nil }.map(\.identity))
    case .held: return .resumption
    case .evaluating:
      return .conditions(run.core.withState { _ in run.closures }?.conditions.elements.map(\.name) ?? [])
    case .pausing: return .pause(until: pauseEnd)
    case .claiming: return .resources(run.core.resources.waits(of: run))
    case .ready: return machine.isSuspended && run.isReported ? .resumption : .slot
    case .starting, .executing:
      if isReturning { return .slot }
      switch wait {
      case .conditions(let names): return .conditions(names)
      case .run, .idle, .room: return children.isEmpty ? .otherProcedures : .children(children.sorted { $0.id < $1.id })
      case nil: return nil
      }
    case .finishing: return children.isEmpty ? nil : .children(children.sorted { $0.id < $1.id })
    case .finished: return nil
    }
  }
}

extension Run {
  /// The public state for the phase.
  var state: ProcedureState {
    core.withState { state in
      guard member >= 0 else { return outcome == nil ? .pending : .finished }
      if outcome != nil { return .finished }
      let entry = state.machine[member]
      switch entry.phase {
      case .pending: return .pending
      case .held: return entry.needs.contains(.conditions) ? .evaluating : .waiting
      case .evaluating: return .evaluating
      case .pausing: return .pausing
      case .claiming, .ready: return .waiting
      case .starting, .executing: return .executing
      case .finishing: return .finishing
      case .finished: return .finished
      }
    }
  }
}
