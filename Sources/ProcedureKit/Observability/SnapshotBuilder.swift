extension QueueCore {
  /// Returns the current runs and what each of them is waiting for.
  func snapshot() -> QueueSnapshot { snapshot { _ in } }

  /// Details that a model shows about a run, but that a snapshot does not contain.
  package struct ModelDetails: Sendable {
    /// The number of attempts that have started.
    package let attempts: Int
    /// The progress; `nil` if the body has reported no progress and has neither children nor nodes.
    package let progress: Double?
  }

  /// Returns a snapshot for a model, with details of the runs that were not started by a body on this queue.
  ///
  /// While a run's body is executing, its progress is treated as being read, so the run's children and nodes are counted.
  package func snapshotForModel() -> (snapshot: QueueSnapshot, topLevel: [ProcedureID: ModelDetails]) {
    var topLevel: [ProcedureID: ModelDetails] = [:]
    let snapshot = snapshot { look in
      guard !isAround(look.run.parent) else { return }
      let node = look.progressNode ?? (look.state == .executing ? look.run.progressNode : nil)
      topLevel[look.run.id] = ModelDetails(attempts: look.attempts, progress: node?.knownFraction)
    }
    return (snapshot, topLevel)
  }

  /// Returns the snapshot, and calls `visit` with the data about each run. No lock is held during these calls.
  private func snapshot(_ visit: (SnapshotEntryBuilder) -> Void) -> QueueSnapshot {
    let instant = time.now
    let (empty, looks) = read { state in
      var looks: [SnapshotEntryBuilder] = []
      for run in state.unfinishedRuns(where: { _, _ in true }) { looks.append(SnapshotEntryBuilder(run, state)) }
      let empty = QueueSnapshot(
        name: name, instant: instant, maxConcurrentProcedures: state.machine.width,
        slotsInUse: state.machine.slotsTaken, maxWaitingProcedures: state.limiter.limit,
        maxConcurrentProceduresPerKey: state.machine.fairQueue.limit,
        maxWaitingProceduresPerKey: state.limiter.limitPerKey, isSuspended: state.machine.isSuspended,
        isShutDown: state.isShutDown, totals: state.totals, procedures: [])
      return (empty, looks)
    }
    let parts = Dictionary(grouping: looks, by: { ObjectIdentifier($0.run.reported) })
    let runs = Set(looks.map(\.run.id))
    var snapshot = empty
    for look in looks where look.run.isReported {
      visit(look)
      let layers = parts[ObjectIdentifier(look.run)] ?? []
      let key = look.run.key.map { "\($0.value)" }
      snapshot.procedures.append(
        QueueSnapshot.Entry(
          procedure: look.run.identity, state: look.state, parent: look.run.parent?.identity, key: key,
          slot: look.slot, progress: look.progress, executionCause: look.executionCause,
          wait: look.wait(amongThoseOf: layers)))
      let nodes = layers.flatMap { $0.nodes(key) }
      snapshot.procedures += nodes.filter { !runs.contains($0.procedure.id) }
    }
    return snapshot
  }
}

/// The data about one run, or about one layer of a run, for a snapshot.
///
/// A builder is created under the lock and must be kept until the lock is released. It refers to other runs, and releasing the last
/// reference to a run can call the user's code.
private struct SnapshotEntryBuilder: Sendable {
  let run: Run
  let state: ProcedureState
  private let phase: RunPhase
  let slot: Int?
  let progressNode: ProgressNode?
  let progress: Double?
  let attempts: Int
  let executionCause: ExecutionCause?
  private let isQueueSuspended: Bool
  private let isReturning: Bool
  /// The maximum number of slots per key, if the run's key is using all of its slots; otherwise `nil`.
  private let limitOfKey: Int?
  /// What the body is waiting for.
  private var waitOfBody: QueueSnapshot.Wait?
  private let pauseEnd: ProcedureInstant?
  /// The unfinished dependencies.
  let dependencies: [ProcedureIdentity]
  /// The resources that the run is waiting for, each with a run that holds it or is ahead in line for it.
  private let holders: [(key: ResourceKey, holder: Run, isAheadInLine: Bool)]
  let children: [ProcedureIdentity]
  let conditions: [String]
  let graph: GraphRun?
  /// The graph's executing, held and ready nodes at the time of the snapshot.
  let nodes: GraphRun.UnfinishedNodes

  init(_ run: Run, _ state: borrowing QueueCore.State) {
    let member = state.runs[run].member
    let number = run.slotNumber(state)
    slot = number < 0 ? nil : Int(number)
    progressNode = state.runs[run].details.extensions.progress
    progress = progressNode?.shown.fraction
    attempts = run.attempts(state)
    executionCause = state.runs[run].details.extensions.executionCause
    self.run = run
    self.state = run.state(state)
    phase = state.machine[member].phase
    isQueueSuspended = state.machine.isSuspended
    // The body of a node uses the slot of a worker, which has the key of the node.
    let slotOwner = state.runs[run.slotOwner].member
    let owner = run.kind == .node && slotOwner >= 0 ? slotOwner : member
    isReturning = state.machine[owner].isReturning
    limitOfKey = state.machine.isKeyFull(owner) ? state.machine.fairQueue.limit : nil
    pauseEnd = state.runs[run].details.pause.end
    // A dependency on another queue may have ended, or a resource may have been released, before the run is notified. In that case, the
    // snapshot shows no wait.
    dependencies = state.runs[run].details.dependencies.handles.filter { !$0.asRunDependency.dependencyRun.isFinished }
      .map(\.identity)
    holders = phase == .claiming ? run.core.resources.holders(of: run) : []
    let produced = state.runs[run].details.children.byID.values.filter { $0.kind == .added }
    children = produced.map(\.identity).sorted { $0.id < $1.id }
    conditions = phase == .evaluating ? state.runs[run].closures?.conditions.map(\.name) ?? [] : []
    graph = state.runs[run].details.extensions.graph
    nodes = graph?.unfinishedNodes ?? GraphRun.UnfinishedNodes()
    waitOfBody = look(at: state.runs[run].details.waits.values.map(\.wait))
  }

  /// Returns the wait to show for a run with several layers. If the run's state is `pausing`, this is the pause; otherwise, it is the wait
  /// of the outermost waiting layer.
  func wait(amongThoseOf layers: [SnapshotEntryBuilder]) -> QueueSnapshot.Wait? {
    let pausing = state == .pausing ? layers.first { $0.phase == .pausing } : nil
    return pausing?.wait ?? layers.lazy.compactMap(\.wait).first
  }

  /// What the run is waiting for.
  private var wait: QueueSnapshot.Wait? {
    switch phase {
    case .pending: dependencies.isEmpty ? nil : .dependencies(dependencies)
    case .held: .resumption
    case .evaluating: .conditions(conditions)
    case .pausing: .pause(until: pauseEnd)
    case .claiming: holders.isEmpty ? nil : .resources(holders.map { exclusion($0, $1, isAheadInLine: $2) })
    case .ready: isQueueSuspended && run.isReported ? .resumption : waitForSlot
    case .starting, .executing: isReturning ? waitForSlot : waitOfBody
    case .finishing: children.isEmpty ? nil : .children(children)
    case .finished: nil
    }
  }

  private func exclusion(
    _ key: any CustomStringConvertible & Sendable, _ holder: Run, isAheadInLine: Bool = false
  ) -> ExclusionWait {
    ExclusionWait(
      procedure: run.layerIdentity, key: key, holder: holder.layerIdentity, isAheadInLine: isAheadInLine)
  }

  private var waitForSlot: QueueSnapshot.Wait {
    guard let limitOfKey, let key = run.key else { return .slot }
    return .key("\(key.value)", limit: limitOfKey)
  }

  /// Returns the wait that the snapshot shows for a body that has the given waits. Waits that have ended are left out, even if the body has
  /// not resumed yet. The caller must hold the lock.
  private func look(at waits: [RunWait]) -> QueueSnapshot.Wait? {
    var procedures: [ProcedureIdentity] = []
    var other: QueueSnapshot.Wait?
    for wait in waits {
      switch wait {
      case .run(let awaited): if !awaited.isFinished { procedures.append(awaited.identity) }
      case .execution(let table, let key, let follower):
        if let leader = table.leader(key, of: follower) { other = .resources([exclusion(key, leader)]) }
      case .idle(let queue): other = .idleness(of: queue.name)
      case .room(let queue, _): other = .room(on: queue.name)
      case .eventsOfRun(let run): other = .events(of: run.name)
      case .events(let name): other = .events(of: name)
      case .rateLimit: other = .rateLimit
      case .pause(let end): other = .pause(until: end)
      }
    }
    if !procedures.isEmpty { return .procedures(Set(procedures).sorted { $0.id < $1.id }) }
    return graph == nil ? other : .nodes
  }

  /// Returns entries for the graph's executing, held and ready nodes. Nodes with modifiers are runs, which have separate entries.
  func nodes(_ key: String?) -> [QueueSnapshot.Entry] {
    guard let graph else { return [] }
    let wait: QueueSnapshot.Wait = isQueueSuspended ? .resumption : nodes.limit.map { .graphLimit($0) } ?? .slot
    // The queue may have been resumed while the node's worker was waiting for a slot.
    let waitOfHeld: QueueSnapshot.Wait = isQueueSuspended ? .resumption : .slot
    func entry(_ node: Int32, _ wait: QueueSnapshot.Wait?) -> QueueSnapshot.Entry {
      QueueSnapshot.Entry(
        procedure: graph.identity(of: node), state: wait == nil ? .executing : .waiting, parent: run.identity, key: key,
        slot: nil, progress: nil, executionCause: nil, wait: wait)
    }
    return nodes.executing.map { entry($0, nil) } + nodes.held.map { entry($0, waitOfHeld) }
      + nodes.waiting.map { entry($0, wait) }
  }
}
