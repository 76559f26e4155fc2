/// A queue at one moment: what is on it, and what each procedure waits for.
///
/// A graph is one procedure. What its nodes wait for is said of the graph, and their workers are among the slots in use.
public struct QueueSnapshot: Sendable {
  /// The queue's name.
  public let name: String
  /// How many bodies may execute at once.
  public let maxConcurrentProcedures: Int
  /// How many slots are taken at this moment.
  public let slotsInUse: Int
  /// Whether the queue starts nothing until it is resumed.
  public let isSuspended: Bool
  /// Every procedure that has not finished, in order of admission.
  public let procedures: [Entry]

  /// One procedure on the queue.
  public struct Entry: Sendable {
    /// Which run of which procedure.
    public let procedure: ProcedureIdentity
    /// Where it stands.
    public let state: ProcedureState
    /// Whose body has produced it, as a part of itself.
    public let producer: ProcedureIdentity?
    /// What it waits for; `nil` while its body works.
    public let wait: Wait?
  }

  /// What keeps a procedure from going on.
  public enum Wait: Sendable, Hashable {
    /// These have to finish first.
    case dependencies([ProcedureIdentity])
    /// These conditions are being evaluated.
    case conditions([String])
    /// The queue is suspended.
    case resumption
    /// Others hold what it excludes others from, or uses. Empty where it only stands behind others who wait for it.
    case resources([ExclusionWait])
    /// Others hold the slots, or come first.
    case slot
    /// It pauses between two attempts, or before the first; until then, if that is known.
    case pause(until: ProcedureInstant?)
    /// Its body awaits something else, and lends its slot meanwhile.
    case otherProcedures
    /// Its body has ended or waits, and it has produced these, which have not.
    case children([ProcedureIdentity])
  }
}

extension QueueSnapshot: CustomStringConvertible {
  /// The queue as people read it: a line for itself and one for each procedure.
  public var description: String {
    let head =
      "queue \"\(name)\": \(slotsInUse) \(slotsInUse == 1 ? "slot" : "slots") in use\(isSuspended ? ", suspended" : "")"
    return ([head] + procedures.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension QueueSnapshot.Entry: CustomStringConvertible {
  /// The procedure as people read it: `"mail" (#6) pending, waits for "copy" (#2)`.
  public var description: String {
    "\(procedure) \(state)\(wait.map { ", waits for \($0)" } ?? "")"
  }
}

extension QueueSnapshot.Wait: CustomStringConvertible {
  /// What is waited for, as people read it.
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
  /// What is on the queue at this moment, and what each procedure waits for. May be called from anywhere, also where
  /// nothing can be awaited.
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

  /// What one run, or one level of it, waits for.
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
  /// The phase, as users see it.
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
