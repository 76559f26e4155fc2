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
    core.withState { state in
      let machine = state.machine
      let claims = machine.runIndices.flatMap { member -> [ResourceClaim] in
        guard let run = state.holders[Int(member)] as? Run else { return [] }
        return (machine.members[Int(member)].resources == .awaited ? [run.claim] : []).compactMap(\.self)
          + run.innerClaims
      }
      let waits = ResourceBook.shared.waits(of: claims)
      var children: [ProcedureID: [ProcedureIdentity]] = [:]
      for member in machine.runIndices {
        guard let run = state.holders[Int(member)] as? Run, let producer = run.detachedRun?.parent?.id else { continue }
        children[producer, default: []].append(run.identity)
      }
      let leader = machine.leader.flatMap { state.holders[Int($0)] as? Run }
      let entries = machine.runIndices.compactMap { member -> QueueSnapshot.Entry? in
        guard let run = state.holders[Int(member)] as? Run else { return nil }
        return QueueSnapshot.Entry(
          procedure: run.identity, state: machine.members[Int(member)].lifecycle.state,
          producer: run.detachedRun?.parent?.identity,
          wait: Self.wait(of: run, at: member, machine, waits, following: leader, children[run.id] ?? []))
      }
      return QueueSnapshot(
        name: core.name, maxConcurrentProcedures: machine.slots.width, slotsInUse: machine.slots.taken,
        isSuspended: machine.isSuspended, procedures: entries)
    }
  }

  private static func wait(
    of run: Run, at member: Int32, _ machine: QueueMachine, _ claims: [ObjectIdentifier: [ExclusionWait]],
    following leader: Run?, _ children: [ProcedureIdentity]
  ) -> QueueSnapshot.Wait? {
    let entry = machine.members[Int(member)]
    switch entry.lifecycle.state {
    case .pending: return .dependencies(run.detachedRun?.unsettledDependencies ?? [])
    case .evaluating:
      return machine.isListed(member) && machine.isSuspended ? .resumption : .conditions(run.conditions.map(\.name))
    case .waiting where entry.resources == .awaited:
      return .resources(run.claim.flatMap { claims[ObjectIdentifier($0)] } ?? [])
    case .waiting where machine.follows(member):
      return .resources(leader.flatMap { ExclusionWait(of: run, for: $0) }.map { [$0] } ?? [])
    case .waiting: return machine.isSuspended ? .resumption : .slot
    case .executing, .pausing:
      if machine.isInLine(member) { return machine.isSuspended ? .resumption : .slot }
      if machine.isReturning(member) { return .slot }
      switch run.innerWaits.first?.kind {
      case .conditions(let names): return .conditions(names)
      case .resources(let claim): return .resources(claims[ObjectIdentifier(claim)] ?? [])
      case nil: break
      }
      if entry.lifecycle.state == .pausing { return .pause(until: run.progress?.pauseEnd) }
      guard entry.loans > 0 else { return nil }
      return children.isEmpty ? .otherProcedures : .children(children)
    case .finishing, .finished: return nil
    }
  }
}

extension ExclusionWait {
  /// What a run waits for that follows another.
  fileprivate init?(of run: Run, for leader: Run) {
    guard let entry = run.resources?.wholeEntry else { return nil }
    self.init(procedure: run.identity, key: entry.key, holder: leader.identity)
  }
}

extension Run {
  /// The claims for which its body waits on levels inside of it.
  fileprivate var innerClaims: [ResourceClaim] {
    innerWaits.compactMap { wait in
      if case .resources(let claim) = wait.kind { claim } else { nil }
    }
  }
}
