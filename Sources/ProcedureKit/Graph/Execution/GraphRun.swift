import Synchronization

/// One execution of a graph: who is ready, what has failed, and the workers.
final class GraphRun: Sendable {
  struct State {
    var progress: GraphProgress
    var failures: [ProcedureFailure] = []
    var isCancelled = false
    /// The node that has ended last; -1 if none has.
    var latest: Int32 = -1
    var inbox: WorkerGroup?
    /// The worker that waits for a slot.
    var startingWorker: Run?
    /// The nodes whose events somebody observes and that have not ended.
    var observed: Set<Int32> = []
    /// When observed nodes have started, and the numbers of their slots.
    var starts: [Int32: (instant: ProcedureInstant, slot: Int32)] = [:]
  }

  private static let workerLevel = ModifierLayer(ModifierLayer.Traits(name: "graph worker"))

  let plan: GraphPlan
  let values: GraphValues
  private let countdown: GraphCountdown
  let run: Run
  let broadcaster: EventBroadcaster<ProcedureEvent>
  private let stopsAtFirstFailure: Bool
  let firstID: ProcedureID
  let state: Mutex<State>
  /// The runs that nodes with nothing but a body needed, until the bodies end.
  private let nodeRuns = Mutex<[Int32: Run]>([:])
  let isObservedFromStart: Bool
  /// The instant since which all nodes wait.
  let start: ProcedureInstant
  /// Whether each node is a run, since the queue calls hooks or an interceptor for each.
  let makesRuns: Bool

  init(_ plan: GraphPlan, in run: Run, limit: Int, stopsAtFirstFailure: Bool) {
    (self.plan, self.run, self.stopsAtFirstFailure) = (plan, run, stopsAtFirstFailure)
    values = GraphValues(plan.layout, dependencyCounts: plan.shape.dependencyCounts)
    broadcaster = run.core.broadcaster
    isObservedFromStart = broadcaster.isObserved
    start = run.core.isMeasured ? run.core.time.now : ProcedureInstant(nanoseconds: -1)
    makesRuns = run.core.hooks != nil || run.core.interceptor != nil
    firstID = .reserve(plan.traits.count)
    countdown = GraphCountdown(plan.shape, values)
    state = Mutex(State(progress: GraphProgress(countdown, limit: limit, stopsAtFirstFailure: stopsAtFirstFailure)))
  }

  /// Executes the graph. The caller's task is the first worker, and waits for the others.
  func execute() async throws {
    announceNodes()
    run.core.update { $0[run].details.extensions.graph = self }
    if run.isProgressRead { _ = progressPart }
    defer {
      if values.countsEnds { run.progressPart.graphEnded(firstID) }
      let graph = run.core.update { $0[run].details.extensions.graph.take() }
      _ = graph
    }
    await run.withTaskAndRunCancellationHandler {
      let advance = await GraphWorker(self, worker: run).execute(
        from: state.withLock { $0.progress.started() }, leavesWhenMoreIsReady: true)
      if !advance.isComplete { await executeByWorkers(takingOverFrom: advance.next) }
    } onCancel: {
      self.cancel()
    }
    let latest = state.withLock(\.latest)
    if latest >= 0 { run.didAwait(identity(of: latest)) }
    finishUnstartedNodes()
    try throwIfFailed()
  }

  private func executeByWorkers(takingOverFrom node: Int32) async {
    let inbox = WorkerGroup()
    let isComplete = state.withLock { state in
      if node >= 0 { state.progress.nodePutBack(node) }
      state.inbox = inbox
      return state.progress.isComplete
    }
    guard !isComplete else { return }
    await run.withSlotReleased {
      addWorker()
      await Spawner.runGroup(inbox)
    }
    state.withLock { $0.inbox = nil }
  }

  private func throwIfFailed() throws {
    let (failures, isCancelled) = state.withLock { ($0.failures, $0.isCancelled) }
    if isCancelled { throw CancellationError() }
    guard let first = failures.first else { return }
    if stopsAtFirstFailure { throw first.error }
    throw ProcedureError.partsFailed(procedure: run.identity, failures: failures)
  }

  /// The nodes at one instant that are no runs of the queue, or not yet.
  struct UnfinishedNodes: Sendable {
    /// A worker has taken them.
    var executing: [Int32] = []
    /// A worker has taken them while the queue was suspended.
    var held: [Int32] = []
    /// They wait for a slot.
    var waiting: [Int32] = []
    /// The limit of the graph, if the waiting nodes wait for that.
    var limit: Int?
  }

  /// The nodes at this instant. Called under the lock of the queue, which is taken before that of the graph.
  var unfinishedNodes: UnfinishedNodes {
    state.withLock { state in
      var nodes = UnfinishedNodes(limit: state.progress.reachedLimit)
      for node in 0..<Int32(plan.traits.count) {
        switch values.stage(of: node) {
        case .executing: nodes.executing.append(node)
        case .held: nodes.held.append(node)
        case nil: break
        }
      }
      if !state.progress.isStopping { nodes.waiting = state.progress.ready.all.sorted() }
      return nodes
    }
  }

  /// The run of a node that has more than a body has arrived at the queue, which reports the node from now on. Called under the lock of the queue.
  func nodeAdmitted(_ id: ProcedureID) {
    guard id.number >= firstID.number, id.number - firstID.number < plan.traits.count else { return }
    values.nodeBecameRun(Int32(id.number - firstID.number))
  }

  func identity(of node: Int32) -> ProcedureIdentity {
    ProcedureIdentity(id: firstID.advanced(by: Int(node)), name: plan.traits[Int(node)].name)
  }

  /// Executes a node that has only a body, as a run with the hooks and the interceptor of the queue.
  func executeAsRun(_ node: Int32, worker: Run) async throws {
    let traits = plan.traits[Int(node)]
    let layer = ModifierLayer(ModifierLayer.Traits(name: traits.name, rawPriority: traits.priority))
    let run = makeRun(of: node, worker: worker, layer)
    run.setBody { [self] _, stage in
      if stage == .execute { try await plan.bodies[Int(node)].execute(values) }
      return ()
    }
    try await run.driveToEnd(admitted: traits.priority, as: Void.self)
  }

  /// Makes the run of a node, whose body uses the slot of the worker.
  func makeRun(of node: Int32, worker: Run, _ layer: ModifierLayer? = nil, _ closures: ModifierLayer.Closures? = nil)
    -> Run
  {
    Run(
      run.core, layer ?? ModifierLayer(ModifierLayer.Traits(name: plan.traits[Int(node)].name)),
      layer == nil ? .bareNode : .node,
      parent: run,
      id: firstID.advanced(by: Int(node)), slotOf: worker.slotOwner, closures: closures)
  }

  /// The run of a node that has nothing but a body. For a task that the body has left behind, a run that has ended.
  func run(of node: Int32, worker: Run) -> Run {
    // The run is known only once it has arrived: another task of the body would take it for one that has ended.
    let (run, adoption) = nodeRuns.withLock { runs -> (Run, Run.Adoption?) in
      if let run = runs[node] { return (run, nil) }
      let run = makeRun(of: node, worker: worker)
      guard values.nodeNeedsRun(node) else { return (run, .refused) }
      runs[node] = run
      return (run, run.arriveAsNode())
    }
    if let adoption { run.arrivedAsNode(adoption, isCancelled: isStopping) }
    return run
  }

  /// The run that was made for a node whose body executes, if any.
  func runMade(for node: Int32) -> Run? { nodeRuns.withLock { $0[node] } }

  /// The body of a node has ended. The run that was made for the node, if any.
  func bodyEnded(of node: Int32) -> Run? {
    values.nodeEnded(node) ? nodeRuns.withLock { $0.removeValue(forKey: node) } : nil
  }

  var isStopping: Bool { countdown.isStopping }

  /// The failure that stops the other nodes.
  var failFast: ProcedureFailure? { stopsAtFirstFailure ? state.withLock(\.failures.first) : nil }

  // MARK: Events of nodes

  /// Whether a node is no run, so that the graph reports its events.
  func isBare(_ node: Int32) -> Bool { plan.traits[Int(node)].isPlain && !makesRuns }

  private func nodeMoved() {
    if run.core.stallReport != nil { run.core.send { state, _ in state.machine.nodeMoved() } }
  }

  func nodeStarts(_ node: Int32, by worker: Run) {
    nodeMoved()
    guard broadcaster.isObserved, isBare(node) else { return }
    let (instant, slot) = (run.core.time.now, run.core.read { worker.slotNumber($0) })
    if isObservedFromStart { state.withLock { $0.starts[node] = (instant, slot) } }
    report(.willExecute(attempt: 1, slot: slot), of: node, at: instant)
  }

  func nodeSucceeded(_ node: Int32, _ run: Run?) -> GraphProgress.Advance {
    nodeMoved()
    if values.countsEnds { countEnd(of: node) }
    if isObservedFromStart || broadcaster.isObserved {
      reportEnd(of: node, isStopping ? cancelledOutcome : .finished(()), run, hasExecuted: true)
    }
    let released = countdown.nodeSucceeded(node)
    if let next = countdown.successor(among: released) { return GraphProgress.Advance(next: next) }
    return carryOut(
      state.withLock { state in
        state.latest = node
        return state.progress.nodeSucceeded(releasing: released)
      })
  }

  func nodeAbandoned(_ node: Int32) -> GraphProgress.Advance {
    values.nodePutBack(node)
    return carryOut(state.withLock { $0.progress.nodeAbandoned() })
  }

  func nodeFailed(_ node: Int32, _ error: any Error, _ nodeRun: Run?, hasExecuted: Bool) -> GraphProgress.Advance {
    nodeMoved()
    // A cancel of the run may be seen here before its handler has been called.
    if !isStopping, run.isCancelledOrStopping { taskWasCancelled() }
    let isCancelled = isStopping
    let outcome = nodeRun?.outcome?.withoutValue ?? ProcedureOutcome<Void>(thrown: error)
    let ending: GraphProgress.Ending = if case .ignored = outcome { .ignored } else { .failed }
    reportEnd(of: node, isCancelled ? cancelledOutcome : outcome, nodeRun, hasExecuted: hasExecuted)
    let skipped = countdown.nodeStopped(node, ending)
    // Recorded before anything is released, since a node that accepts the failure may be executed at once.
    values.recordError(error, of: plan.slot(of: node))
    for skip in skipped { values.recordError(self.error(of: skip, since: node, error), of: plan.slot(of: skip.node)) }
    let released = countdown.release(byStopping: node, skipped)
    let (advance, counts) = state.withLock { state in
      let wasStopping = state.progress.isStopping
      state.latest = node
      let (advance, isUnaccepted) = state.progress.nodeStopped(node, ending, releasing: released)
      let counts = isUnaccepted && !wasStopping
      if counts { state.failures.append(ProcedureFailure(procedure: identity(of: node), error: error)) }
      return (advance, counts)
    }
    if counts, stopsAtFirstFailure { logStop(by: node, error, of: run) }
    for skip in skipped { finishSkipped(skip, since: node, error, isCancelled: isCancelled) }
    if values.countsEnds, !isStopping { for end in [node] + skipped.map(\.node) { countEnd(of: end) } }
    return carryOut(advance)
  }

  private func error(of skip: GraphCountdown.Skipped, since node: Int32, _ root: any Error) -> ProcedureError {
    if skip.ending == .ignored, let condition = (root as? ProcedureError)?.condition {
      return .ignored(procedure: identity(of: skip.node), by: condition)
    }
    return .dependencyFailed(
      of: identity(of: skip.node), identity(of: skip.cause), origin: identity(of: node), root)
  }

  private func finishSkipped(
    _ skip: GraphCountdown.Skipped, since node: Int32, _ root: any Error, isCancelled: Bool
  ) {
    reportEnd(
      of: skip.node, isCancelled ? cancelledOutcome : ProcedureOutcome(thrown: error(of: skip, since: node, root)),
      hasExecuted: false)
    for input in plan.inputs(of: skip.node) { values.giveUpShare(of: input) }
  }

  func taskWasCancelled() {
    if !isStopping { cancel() }
  }

  private func cancel() {
    let advance = state.withLock { state in
      state.isCancelled = state.isCancelled || !state.progress.isStopping
      var advance = state.progress.cancelled()
      advance.cancelsWorkers = true
      return advance
    }
    _ = carryOut(advance)
  }

  private func carryOut(_ advance: GraphProgress.Advance) -> GraphProgress.Advance {
    guard advance.addsWorker || advance.cancelsWorkers || advance.isComplete else { return advance }
    if advance.cancelsWorkers { run.cancelParts() }
    guard let inbox = state.withLock({ $0.inbox }) else { return advance }
    if advance.addsWorker { addWorker() }
    if advance.cancelsWorkers { inbox.send(.cancelAll) }
    if advance.isComplete {
      inbox.close()
      state.withLock { $0.startingWorker.take() }?.cancel(nil)
    }
    return advance
  }

  // MARK: Workers

  /// Adds a worker, which stands in line for a slot of its own. A graph in a hook of the end has none, and neither have its workers.
  private func addWorker() {
    let owner = run.slotOwner
    let isInHook = run.core.read { $0.runs[owner].isDecided }
    let worker = Run(run.core, Self.workerLevel, .graphWorker, parent: run, slotOf: isInHook ? owner : nil)
    worker.setBody { [self] worker, _ in
      let first = state.withLock { state in
        state.startingWorker = nil
        return state.progress.workerStarted()
      }
      _ = await GraphWorker(self, worker: worker).execute(from: carryOut(first), leavesWhenMoreIsReady: false)
      return ()
    }
    let inbox = state.withLock { state -> WorkerGroup? in
      guard !state.progress.isComplete else { return nil }
      state.startingWorker = worker
      return state.inbox
    }
    _ = inbox?.send(
      .add {
        do {
          try await worker.driveToEnd(admitted: nil, as: Void.self)
        } catch {
          // A worker was cancelled in line for its slot: by the graph, when it is complete; otherwise the graph is cancelled, too.
          if !self.state.withLock(\.progress.isComplete) { self.taskWasCancelled() }
        }
      })
  }
}

extension Run {
  /// Cancels the runs of a kind within the run, or all of them, and not the run itself.
  func cancelParts(_ kind: Kind? = nil) {
    let children = core.read { $0.runs[self].details.children.byID.inOrder }
    for child in children where kind == nil || child.kind == kind { child.cancel(inheritedReason) }
  }
}
