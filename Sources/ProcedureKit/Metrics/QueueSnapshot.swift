/// A queue at one moment: the procedures on the queue, and the wait of each procedure.
///
/// All entries are of the same moment. Of a graph, the nodes that execute or wait are shown after the graph, with the graph as
/// their parent; nodes whose dependencies have not finished are not shown.
public struct QueueSnapshot: Codable, Sendable {
  /// The queue's name.
  public let name: String
  /// How many bodies may execute at once.
  public let maxConcurrentProcedures: Int
  /// How many slots are taken at this moment.
  public let slotsInUse: Int
  /// How many added procedures may wait; see ``ProcedureQueue/Configuration/maxWaitingProcedures``.
  public let maxWaitingProcedures: Int
  /// How many bodies of one key may execute at once; see ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey``.
  public let maxConcurrentProceduresPerKey: Int
  /// How many added procedures of one key may wait; see ``ProcedureQueue/Configuration/maxWaitingProceduresPerKey``.
  public let maxWaitingProceduresPerKey: Int
  /// Whether the queue starts no procedure until the queue is resumed.
  public let isSuspended: Bool
  /// Whether the queue admits no further procedures.
  public let isShutDown: Bool
  /// What has happened on the queue, if ``ProcedureQueue/Configuration/collectsTotals`` is set.
  public let totals: QueueTotals?
  /// Every procedure that has not finished, in order of admission.
  public fileprivate(set) var procedures: [Entry]

  /// One procedure on the queue.
  public struct Entry: Codable, Sendable {
    /// The id and the name of the run.
    public let procedure: ProcedureIdentity
    /// The state of the run.
    public let state: ProcedureState
    /// The run whose body runs or has produced this run, or the graph of this node; `nil` for a run of its own.
    public let parent: ProcedureIdentity?
    /// The description of the run's key, or of the key of the run around; see ``Procedure/keyed(by:)``.
    public let key: String?
    /// The number of the slot in which the body executes, as ``ProcedureEvent/slot`` tells; `nil` without one, and if the queue is neither
    /// observed nor collects totals. A node has the slot of its graph's worker, which is shown for a node with modifiers only.
    public let slot: Int?
    /// How far the run is, if progress is reported or read; see ``ProgressReporter``. Nodes with nothing but a body have none.
    public let progress: Double?
    /// Why a node of a durable graph is executed although the journal has a value of the node, or of others of the graph; `nil` for every
    /// other run.
    public let executionCause: ExecutionCause?
    /// The wait of the run; `nil` while the body works, or waits for anything that is not the library's.
    public let wait: Wait?
  }

  /// The wait that keeps a procedure from going on.
  public enum Wait: Codable, Hashable, Sendable {
    /// The procedure waits for dependencies.
    case dependencies([ProcedureIdentity])
    /// The conditions of these names are being evaluated.
    case conditions([String])
    /// The queue is suspended.
    case resumption
    /// Other runs hold resources that the procedure claims, or have claimed them earlier.
    case resources([ExclusionWait])
    /// Other runs hold the slots, or come first.
    case slot
    /// Other runs of the described key hold all `limit` slots that each key may have, or come first. See
    /// ``ProcedureQueue/Configuration/maxConcurrentProceduresPerKey``.
    case key(String, limit: Int)
    /// The procedure pauses between two attempts, or before the first. `until` is the end of the pause, if known.
    case pause(until: ProcedureInstant?)
    /// The body awaits these procedures, and lends the slot meanwhile.
    case procedures([ProcedureIdentity])
    /// The body waits until all procedures of the queue of this name have finished.
    case idleness(of: String)
    /// The body waits for room on the full queue of this name.
    case room(on: String)
    /// The body waits for an event of the procedure or the queue of this name.
    case events(of: String)
    /// The body has ended or waits, and children that the body has produced have not finished.
    case children([ProcedureIdentity])
    /// The graph waits for its nodes.
    case nodes
    /// The node waits until fewer than this number of nodes execute; see ``ProcedureGraph/limit(_:)``.
    case graphLimit(Int)
    /// The procedure waits for its turn at a ``RateLimiter``.
    case rateLimit
  }
}

extension QueueSnapshot: CustomStringConvertible {
  /// The queue in logs: a line for the queue, and a line for each procedure.
  public var description: String {
    let head =
      "queue \(name.quoted): \(slotsInUse) \(slotsInUse == 1 ? "slot" : "slots") in use"
      + "\(isSuspended ? ", suspended" : "")\(isShutDown ? ", shut down" : "")"
    return ([head] + procedures.map { "  \($0)" }).joined(separator: "\n")
  }
}

extension QueueSnapshot.Entry: CustomStringConvertible {
  /// The procedure in logs: `"mail" (#6) pending, waits for "copy" (#2)`.
  public var description: String {
    "\(procedure)\(key.map { " of key \($0.quoted)" } ?? "") \(state)\(wait.map { ", waits for \($0)" } ?? "")"
      + (executionCause.map { ", again, since \($0)" } ?? "")
  }
}

extension QueueSnapshot.Wait: CustomStringConvertible {
  /// The awaited procedures, conditions or resources, in logs.
  public var description: String {
    switch self {
    case .dependencies(let procedures), .procedures(let procedures):
      procedures.map(\.description).joined(separator: ", ")
    case .conditions(let names): "its conditions " + names.map(\.quoted).joined(separator: ", ")
    case .resources([]): "its turn to claim what it needs"
    case .resources(let waits): waits.map { "\($0.resource.quoted), which \($0.holder) holds" }.joined(separator: ", ")
    case .resumption: "the queue to be resumed"
    case .slot: "a slot"
    case .key(let key, let limit): "one of the \(limit) \(limit == 1 ? "slot" : "slots") of its key \(key.quoted)"
    case .pause(let end): end.map { "the end of its pause, at \($0)" } ?? "the end of its pause"
    case .idleness(let queue): "all procedures of the queue \(queue.quoted)"
    case .room(let queue): "room on the queue \(queue.quoted)"
    case .events(let name): "an event of \(name.quoted)"
    case .children(let children): "its children " + children.map(\.description).joined(separator: ", ")
    case .nodes: "its nodes"
    case .graphLimit(let limit): "one of the \(limit) nodes that may execute at once"
    case .rateLimit: "its turn at a rate limiter"
    }
  }
}

extension ProcedureQueue {
  /// Returns the procedures on the queue at this moment, with the wait of each procedure.
  ///
  /// The function can be called from anywhere, including synchronous code.
  ///
  /// - Complexity: O(n log n) for n procedures on the queue.
  public nonisolated func snapshot() -> QueueSnapshot { core.snapshot() }
}

extension QueueCore {
  /// Returns the runs that are there, with the wait of each.
  func snapshot() -> QueueSnapshot {
    let (empty, looks) = withState { state in
      let looks = state.machine.present.compactMap { member in
        state.machine[member].payload.map { RunLook($0, state) }
      }
      let empty = QueueSnapshot(
        name: name, maxConcurrentProcedures: state.machine.width, slotsInUse: state.machine.slotsTaken,
        maxWaitingProcedures: state.room.limit, maxConcurrentProceduresPerKey: state.machine.turns.limit,
        maxWaitingProceduresPerKey: state.room.limitPerKey, isSuspended: state.machine.isSuspended,
        isShutDown: state.isShutDown, totals: state.totals, procedures: [])
      return (empty, looks)
    }
    let parts = Dictionary(grouping: looks, by: { ObjectIdentifier($0.run.reported) })
    let runs = Set(looks.map(\.run.id))
    var snapshot = empty
    for look in looks where look.run.isReported {
      let levels = parts[ObjectIdentifier(look.run)] ?? []
      let key = look.run.key.map { "\($0.value)" }
      snapshot.procedures.append(
        QueueSnapshot.Entry(
          procedure: look.run.identity, state: look.state, parent: look.run.parent?.identity, key: key,
          slot: look.slot, progress: look.progress, executionCause: look.executionCause,
          wait: look.wait(amongThoseOf: levels, empty.isSuspended)))
      let nodes = levels.flatMap { $0.nodes(key, empty.isSuspended) }
      snapshot.procedures += nodes.filter { !runs.contains($0.procedure.id) }
    }
    return snapshot
  }
}

/// The look of a snapshot at one wait of a body.
private enum BodyWaitLook: Sendable {
  case procedure(ProcedureIdentity)
  /// The leader of the execution of a key.
  case execution(SharedWorkTable.Key, Run)
  case other(QueueSnapshot.Wait)

  /// `nil` for a wait that is over, although the body has not gone on yet. Made under the lock.
  init?(_ wait: RunWait) {
    switch wait {
    case .run(let awaited):
      if awaited.isFinished { return nil }
      self = .procedure(awaited.identity)
    case .execution(let table, let key, let follower):
      guard let leader = table.leader(key, of: follower) else { return nil }
      self = .execution(key, leader)
    case .conditions(let names): self = .other(.conditions(names))
    case .idle(let queue): self = .other(.idleness(of: queue.name))
    case .room(let queue, _): self = .other(.room(on: queue.name))
    case .eventsOfRun(let run): self = .other(.events(of: run.name))
    case .events(let name): self = .other(.events(of: name))
    case .rateLimit: self = .other(.rateLimit)
    }
  }
}

/// The look of a snapshot at one run, or one level of a run. Made under the lock, and kept until the lock is released: the release of a last
/// reference to another run can call the user.
private struct RunLook: Sendable {
  let run: Run
  let state: ProcedureState
  private let phase: RunPhase
  let slot: Int?
  let progress: Double?
  let executionCause: ExecutionCause?
  private let isReturning: Bool
  /// The limit of the key, if the run waits for a slot of its key.
  private let limitOfKey: Int?
  private let waits: [BodyWaitLook]
  private let pauseEnd: ProcedureInstant?
  /// The dependencies that have not ended.
  private let dependencies: [ProcedureIdentity]
  /// The resources that the run claims, and the other runs that hold them.
  private let holders: [(key: ResourceKey, holder: Run)]
  private let children: [ProcedureIdentity]
  private let conditions: [String]
  private let graph: GraphRun?
  /// The nodes of the graph at the instant of the snapshot.
  private let nodes: GraphRun.UnfinishedNodes

  init(_ run: Run, _ state: QueueCore.State) {
    let (machine, details) = (state.machine, run.details)
    let number = run.slotNumber(state)
    slot = number < 0 ? nil : Int(number)
    (progress, executionCause) = (details?.progress?.shown.fraction, details?.executionCause)
    self.run = run
    self.state = run.state(machine)
    phase = machine[run.member].phase
    // The body of a node uses the slot of a worker, which has the key of the node.
    let owner = run.kind == .node && run.slotOwner.member >= 0 ? run.slotOwner.member : run.member
    isReturning = machine[owner].isReturning
    limitOfKey = machine.isKeyFull(owner) ? machine.turns.limit : nil
    waits = details?.waits.values.compactMap { BodyWaitLook($0.wait) } ?? []
    pauseEnd = details?.pauseEnd
    // Other queues may have ended a dependency or released a resource, and not yet have reached this run: it waits for nothing then.
    dependencies = details?.dependencies.filter { !$0.ofRun.dependencyRun.isFinished }.map(\.identity) ?? []
    holders = phase == .claiming ? run.core.resources.holders(of: run) : []
    let produced = details.map { Array($0.children.values.filter { $0.kind == .added }) } ?? []
    children = produced.map(\.identity).sorted { $0.id < $1.id }
    conditions = phase == .evaluating ? run.closures?.conditions.elements.map(\.name) ?? [] : []
    graph = details?.graph
    nodes = graph?.unfinishedNodes ?? GraphRun.UnfinishedNodes()
  }

  /// The wait that is shown for a run of several levels: that of the outermost one which waits, or of the pause that the state is about.
  func wait(amongThoseOf levels: [RunLook], _ isSuspended: Bool) -> QueueSnapshot.Wait? {
    let pausing = state == .pausing ? levels.first { $0.phase == .pausing } : nil
    return pausing?.wait(isSuspended) ?? levels.lazy.compactMap { $0.wait(isSuspended) }.first
  }

  /// The wait of the run.
  func wait(_ isSuspended: Bool) -> QueueSnapshot.Wait? {
    switch phase {
    case .pending: dependencies.isEmpty ? nil : .dependencies(dependencies)
    case .held: .resumption
    case .evaluating: .conditions(conditions)
    case .pausing: .pause(until: pauseEnd)
    case .claiming: holders.isEmpty ? nil : .resources(holders.map { exclusion($0.key, $0.holder) })
    case .ready: isSuspended && run.isReported ? .resumption : waitForSlot
    case .starting, .executing: isReturning ? waitForSlot : waitOfBody
    case .finishing: children.isEmpty ? nil : .children(children)
    case .finished: nil
    }
  }

  private func exclusion(_ key: any CustomStringConvertible & Sendable, _ holder: Run) -> ExclusionWait {
    ExclusionWait(procedure: run.levelIdentity, key: key, holder: holder.levelIdentity)
  }

  private var waitForSlot: QueueSnapshot.Wait {
    guard let limitOfKey, let key = run.key else { return .slot }
    return .key("\(key.value)", limit: limitOfKey)
  }

  private var waitOfBody: QueueSnapshot.Wait? {
    var procedures: [ProcedureIdentity] = []
    var other: QueueSnapshot.Wait?
    for wait in waits {
      switch wait {
      case .procedure(let procedure): procedures.append(procedure)
      case .execution(let key, let leader): other = .resources([exclusion(key, leader)])
      case .other(.conditions(let names)): return .conditions(names)
      case .other(let wait): other = wait
      }
    }
    if !procedures.isEmpty { return .procedures(Set(procedures).sorted { $0.id < $1.id }) }
    if graph != nil { return .nodes }
    return other ?? (waits.isEmpty || children.isEmpty ? nil : .children(children))
  }

  /// The nodes of a graph that execute or wait for a slot and are no runs of their own.
  func nodes(_ key: String?, _ isSuspended: Bool) -> [QueueSnapshot.Entry] {
    guard let graph else { return [] }
    let wait: QueueSnapshot.Wait = isSuspended ? .resumption : nodes.limit.map { .graphLimit($0) } ?? .slot
    // The queue may have been resumed, and its worker wait for the slot.
    let waitOfHeld: QueueSnapshot.Wait = isSuspended ? .resumption : .slot
    func entry(_ node: Int32, _ wait: QueueSnapshot.Wait?) -> QueueSnapshot.Entry {
      QueueSnapshot.Entry(
        procedure: graph.identity(of: node), state: wait == nil ? .executing : .waiting, parent: run.identity, key: key,
        slot: nil,
        progress: nil, executionCause: nil, wait: wait)
    }
    return nodes.executing.map { entry($0, nil) } + nodes.held.map { entry($0, waitOfHeld) }
      + nodes.waiting.map { entry($0, wait) }
  }
}

extension Run {
  /// The public state for the phase.
  var state: ProcedureState { core.withState { self.state($0.machine) } }

  /// Whether a layer of the procedure pauses, and the run and its layers hold no slot. Called under the lock.
  private func isPausedByPart(_ machine: QueueMachine<Run>) -> Bool {
    var (parts, isPaused) = ([self], false)
    while let part = parts.popLast() {
      let entry = machine[part.member]
      if entry.holdsSlot { return false }
      isPaused = isPaused || entry.phase == .pausing
      for child in part.details?.children.values ?? [:].values where !child.isReported && child.member >= 0 {
        parts.append(child)
      }
    }
    return isPaused
  }

  /// The state of the run (L1). Called under the lock.
  func state(_ machine: QueueMachine<Run>) -> ProcedureState {
    guard member >= 0 else { return outcome == nil ? .pending : .finished }
    if outcome != nil { return .finished }
    let entry = machine[member]
    switch entry.phase {
    case .pending: return .pending
    case .held: return entry.needs.contains(.conditions) ? .evaluating : .waiting
    case .evaluating: return .evaluating
    case .pausing: return .pausing
    case .claiming, .ready: return .waiting
    case .starting, .executing: return isPausedByPart(machine) ? .pausing : .executing
    case .finishing: return .finishing
    case .finished: return .finished
    }
  }
}
