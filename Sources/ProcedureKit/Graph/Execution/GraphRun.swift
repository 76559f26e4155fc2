import Synchronization

/// One execution of a graph, with its ready nodes, its failures, and its workers.
final class GraphRun: Sendable {
  struct State {
    var progress: GraphProgress
    var failures: [ProcedureFailure] = []
    var isCancelled = false
    /// The node that ended most recently; -1 if no node has ended.
    var latest: Int32 = -1
    /// The additional workers; `nil` while the graph has none.
    var workers: WorkerGroup?
    /// The worker that is waiting for a slot.
    var startingWorker: Run?
    /// The unfinished nodes whose events are observed.
    var observed: Set<Int32> = []
    /// The instants at which observed nodes started, and the numbers of their slots.
    var starts: [Int32: (instant: ProcedureInstant, slot: Int32)] = [:]
  }

  private static let workerLayer = ModifierLayer(ModifierLayer.Traits(name: "graph worker"))

  let plan: GraphPlan
  let values: GraphValues
  private let countdown: GraphCountdown
  let run: Run
  let broadcaster: EventBroadcaster<ProcedureEvent>
  private let stopsAtFirstFailure: Bool
  let firstID: ProcedureID
  let state: Mutex<State>
  /// The runs that were created for nodes without modifiers. A run is removed when its body ends.
  private let nodeRuns = Mutex<[Int32: Run]>([:])
  let isObservedFromStart: Bool
  /// The instant at which the graph started and all nodes began to wait. A negative value means that runs are not being measured.
  let start: ProcedureInstant
  /// Whether every node is executed as a run, which is necessary if the queue has an interceptor.
  let makesRuns: Bool
  /// The values that bodies request by key; `nil` if the graph declares none.
  let requests: GraphRequests?

  init(_ plan: GraphPlan, in run: Run, limit: Int, stopsAtFirstFailure: Bool) {
    (self.plan, self.run, self.stopsAtFirstFailure) = (plan, run, stopsAtFirstFailure)
    values = GraphValues(plan.layout, dependencyCounts: plan.shape.dependencyCounts)
    broadcaster = run.core.broadcaster
    isObservedFromStart = broadcaster.isObserved
    start = run.core.isMeasured ? run.core.time.now : ProcedureInstant(nanoseconds: -1)
    makesRuns = run.core.configuration.interceptor != nil
    requests = plan.keyed.isEmpty ? nil : GraphRequests(plan.keyed, in: run)
    firstID = .reserve(plan.traits.count)
    countdown = GraphCountdown(plan.shape, values)
    // Later changes to the width do not affect the run.
    let usesRanks = GraphProgress.usesRanks(count: plan.bodies.count, limit: limit, width: run.core.width)
    state = Mutex(
      State(
        progress: GraphProgress(
          countdown, ranks: usesRanks ? plan.ranks : [], limit: limit, stopsAtFirstFailure: stopsAtFirstFailure)))
  }

  /// Executes the graph.
  ///
  /// The caller's task executes nodes alone until a second node is ready. It then waits while workers, each with its own slot, execute the
  /// remaining nodes.
  func execute() async throws {
    announceNodes()
    run.core.update { $0[run].details.extensions.graph = self }
    if run.isProgressRead { _ = progressNode }
    defer {
      if values.countsEnds { run.progressNode.graphEnded(firstID) }
      _ = run.core.update { $0[run].details.extensions.graph.take() }
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

  /// Has workers execute the remaining nodes, starting with a node that the caller's task has already taken. Returns when the graph has
  /// ended.
  private func executeByWorkers(takingOverFrom node: Int32) async {
    let isComplete = state.withLock { state in
      if node >= 0 { state.progress.nodePutBack(node) }
      return state.progress.isComplete
    }
    guard !isComplete else { return }
    let workers = WorkerGroup()
    // The worker starts to wait for a slot before the body releases its own, so it comes before procedures that are added later (Q1).
    addWorker(to: workers)
    let wasCancelled = state.withLock { state in
      state.workers = workers
      return state.progress.isComplete
    }
    if wasCancelled { close(workers) }
    // While the body waits for the workers, it holds no slot (Q3).
    await run.withSlotReleased { await Spawner.runGroup(workers) }
    state.withLock { $0.workers = nil }
  }

  /// Throws an error if the graph was cancelled or failed. After a failure, the error is the first failure, or contains all collected
  /// failures (D4).
  private func throwIfFailed() throws {
    let (failures, isCancelled) = state.withLock { ($0.failures, $0.isCancelled) }
    if isCancelled { throw CancellationError() }
    guard let first = failures.first else { return }
    if stopsAtFirstFailure { throw first.error }
    throw ProcedureError.childrenFailed(procedure: run.identity, failures: failures)
  }

  /// A snapshot of the executing, held and ready nodes that are not runs on the queue. Nodes that wait for dependencies are not included.
  struct UnfinishedNodes: Sendable {
    /// The nodes that workers are executing.
    var executing: [Int32] = []
    /// The nodes that workers have taken but cannot execute while the queue is suspended (Q2).
    var held: [Int32] = []
    /// The ready nodes that are waiting for a worker.
    var waiting: [Int32] = []
    /// The limit of the graph, if it has been reached.
    var limit: Int?
  }

  /// A snapshot of the executing, held and ready nodes that are not runs on the queue. The caller holds the queue's lock, which is always
  /// acquired before the graph's lock.
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

  /// Records that the run of a node with modifiers was admitted. From then on, the queue's snapshots list the node as a run. The caller
  /// holds the queue's lock.
  func nodeAdmitted(_ id: ProcedureID) {
    guard id.number >= firstID.number, id.number - firstID.number < plan.traits.count else { return }
    values.nodeBecameRun(Int32(id.number - firstID.number))
  }

  func identity(of node: Int32) -> ProcedureIdentity {
    ProcedureIdentity(id: firstID.advanced(by: Int(node)), name: plan.traits[Int(node)].name)
  }

  /// Creates and executes a run for a node without modifiers, so that the interceptor of the queue is called.
  func executeAsRun(_ node: Int32, worker: Run) async throws {
    let traits = plan.traits[Int(node)]
    let layer = ModifierLayer(ModifierLayer.Traits(name: traits.name, rawPriority: traits.priority))
    let run = makeRun(of: node, worker: worker, layer) { [self] _, stage in
      if stage == .execute { try await plan.bodies[Int(node)].execute(values) }
      return ()
    }
    try await run.driveToEnd(from: run.admit(), as: Void.self)
  }

  /// Creates the run of a node. The body of the run uses the slot of the worker.
  func makeRun(
    of node: Int32, worker: Run, _ layer: ModifierLayer? = nil, _ closures: ModifierLayer.Closures? = nil,
    _ body: Run.Body? = nil
  ) -> Run {
    Run(
      run.core, layer ?? ModifierLayer(ModifierLayer.Traits(name: plan.traits[Int(node)].name)),
      layer == nil ? .bodyOnlyNode : .node,
      parent: run,
      id: firstID.advanced(by: Int(node)), slotOf: worker.slotOwner, closures: closures, body: body)
  }

  /// Returns the run of a node without modifiers, creating the run on first use. If the caller is a task that has outlived the body, the
  /// run has already ended.
  func run(of node: Int32, worker: Run) -> Run {
    // The run is admitted before the lock is released. Otherwise, another task of the body could see a run that appears to have ended.
    let (run, adoption) = nodeRuns.withLock { runs -> (Run, Run.Adoption?) in
      if let run = runs[node] { return (run, nil) }
      let run = makeRun(of: node, worker: worker)
      guard values.nodeNeedsRun(node) else { return (run, .refused) }
      runs[node] = run
      return (run, run.admitAsNode())
    }
    if adoption == .refused {
      // The body of the node has ended, or the outcome of the graph's run has already been decided.
      run.refuse(CancellationError())
    } else if adoption == .cancelled || adoption != nil && isStopping {
      run.cancelLikeParent()
    }
    return run
  }

  /// Returns the run that was created for a node whose body is executing, if any.
  func runMade(for node: Int32) -> Run? { nodeRuns.withLock { $0[node] } }

  /// Records that the body of a node ended, and returns the run that was created for the node, if any.
  func bodyEnded(of node: Int32) -> Run? {
    values.nodeEnded(node) ? nodeRuns.withLock { $0.removeValue(forKey: node) } : nil
  }

  var isStopping: Bool { values.isStopping }

  /// The failure that stops the other nodes; `nil` if the graph continues after failures (D4).
  var failFast: ProcedureFailure? { stopsAtFirstFailure ? state.withLock(\.failures.first) : nil }

  // MARK: Events of nodes

  /// Returns whether a node executes without its own run. The graph itself publishes the events of such a node.
  func executesWithoutRun(_ node: Int32) -> Bool { plan.traits[Int(node)].hasOnlyBody && !makesRuns }

  /// Notifies the stall detector that a node started or ended.
  private func nodeMoved() {
    if run.core.configuration.stallTimeout != nil { run.core.send { state, _ in state.machine.nodeMoved() } }
  }

  /// Publishes `willExecute` for a node that a worker is about to execute.
  func nodeStarts(_ node: Int32, by worker: Run) {
    nodeMoved()
    guard broadcaster.isObserved, executesWithoutRun(node) else { return }
    let (instant, slot) = (run.core.time.now, run.core.read { worker.slotNumber($0) })
    if isObservedFromStart { state.withLock { $0.starts[node] = (instant, slot) } }
    report(.init(step: .willExecute(attempt: 1), slot: slot), of: node, at: instant)
  }

  /// Handles the success of a node and returns what its worker does next.
  func nodeSucceeded(_ node: Int32, _ run: Run?) -> GraphProgress.Advance {
    nodeMoved()
    if values.countsEnds { countEnd(of: node) }
    if isObservedFromStart || broadcaster.isObserved {
      reportEnd(of: node, isStopping ? cancelledOutcome : .finished(()), run, hasExecuted: true)
    }
    let released = countdown.nodeSucceeded(node)
    // The node has released exactly one successor, so the worker continues with that successor without taking the lock.
    if let next = countdown.successor(among: released) { return GraphProgress.Advance(next: next) }
    return perform(
      state.withLock { state in
        state.latest = node
        return state.progress.nodeSucceeded(releasing: released)
      })
  }

  /// Handles a node that a worker has taken but will not execute because the graph is stopping.
  func nodeAbandoned(_ node: Int32) -> GraphProgress.Advance {
    values.nodePutBack(node)
    return perform(state.withLock { $0.progress.nodeAbandoned() })
  }

  /// Handles a node that failed, was cancelled, or was ignored: skips its dependents and records the failure (D1, D4).
  ///
  /// Returns what the node's worker does next.
  func nodeFailed(_ node: Int32, _ error: any Error, _ nodeRun: Run?, hasExecuted: Bool) -> GraphProgress.Advance {
    nodeMoved()
    // The run may already be cancelled even though its cancellation handler has not been called yet.
    if !isStopping, run.isCancelledOrStopping { taskWasCancelled() }
    let isCancelled = isStopping
    let outcome = nodeRun?.outcome?.withoutValue ?? RunOutcome(thrown: error).withoutValue
    let ending: GraphProgress.Ending = if case .ignored = outcome { .ignored } else { .failed }
    reportEnd(of: node, isCancelled ? cancelledOutcome : outcome, nodeRun, hasExecuted: hasExecuted)
    let skipped = countdown.nodeStopped(node, ending)
    // The errors are recorded before any node is released, because a node that accepts the failure can start executing immediately.
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
    if counts, stopsAtFirstFailure {
      run.log.log(level: .info, "node \(identity(of: node)) failed, stopping the graph: \(error)")
    }
    for skip in skipped { finishSkipped(skip, since: node, error, isCancelled: isCancelled) }
    if values.countsEnds, !isStopping { for end in [node] + skipped.map(\.node) { countEnd(of: end) } }
    return perform(advance)
  }

  /// Returns the error for a node that is skipped because `node` ended with the error `root` (D1).
  private func error(of skip: GraphCountdown.Skipped, since node: Int32, _ root: any Error) -> ProcedureError {
    if skip.ending == .ignored, let condition = (root as? ProcedureError)?.condition {
      return .ignored(procedure: identity(of: skip.node), by: condition)
    }
    return .dependencyFailed(
      of: identity(of: skip.node), identity(of: skip.cause), origin: identity(of: node), root)
  }

  /// Publishes the final events for a skipped node and gives up the node's share of each input (D3).
  private func finishSkipped(
    _ skip: GraphCountdown.Skipped, since node: Int32, _ root: any Error, isCancelled: Bool
  ) {
    reportEnd(
      of: skip.node,
      isCancelled ? cancelledOutcome : RunOutcome(thrown: error(of: skip, since: node, root)).withoutValue,
      hasExecuted: false)
    for input in plan.inputs(of: skip.node) { values.giveUpShare(of: input) }
  }

  /// Cancels the graph after a worker's task was cancelled.
  func taskWasCancelled() {
    if !isStopping { cancel() }
  }

  /// Cancels the graph, its additional workers, and its children (C8).
  private func cancel() {
    let advance = state.withLock { state in
      state.isCancelled = state.isCancelled || !state.progress.isStopping
      var advance = state.progress.cancelled()
      advance.cancelsWorkers = true
      return advance
    }
    _ = perform(advance)
  }

  /// Applies the effects of an advance to the other workers and returns the advance.
  private func perform(_ advance: GraphProgress.Advance) -> GraphProgress.Advance {
    guard advance.addsWorker || advance.cancelsWorkers || advance.isComplete else { return advance }
    if advance.cancelsWorkers { run.cancelChildren() }
    // If there are no additional workers, the caller's task handles the advance itself.
    guard let workers = state.withLock({ $0.workers }) else { return advance }
    if advance.addsWorker { addWorker(to: workers) }
    if advance.cancelsWorkers { workers.send(.cancelAll) }
    if advance.isComplete { close(workers) }
    return advance
  }

  // MARK: Workers

  /// Adds a worker, which waits for its own slot if it needs one. A graph in an end hook has no slot, and neither do its workers (L3).
  ///
  /// The worker is admitted here rather than in its own task. Otherwise, a procedure that was added later could take a slot that becomes
  /// free before the task starts (Q1).
  ///
  /// The group of workers cannot be closed while this function executes. Either no other task has access to the group yet, or the graph has
  /// not ended because the caller has taken a node.
  private func addWorker(to workers: WorkerGroup) {
    let owner = run.slotOwner
    let isInHook = run.core.read { $0.runs[owner].isDecided }
    let worker = Run(
      run.core, Self.workerLayer, .graphWorker, parent: run, slotOf: isInHook ? owner : nil,
      needsSlot: !run.continuesWithoutSlot,
      body: { [self] worker, _ in
        let first = state.withLock { state in
          state.startingWorker = nil
          return state.progress.workerStarted()
        }
        _ = await GraphWorker(self, worker: worker).execute(from: perform(first), leavesWhenMoreIsReady: false)
        return ()
      })
    state.withLock { $0.startingWorker = worker }
    let step = worker.admit()
    workers.send(
      .add { [self] in
        await worker.drive(from: step)
        // The worker was cancelled while it was waiting for its slot, so the graph is cancelled, too, unless the graph itself cancelled
        // the worker because all nodes had ended.
        if worker.outcome?.failure != nil, !state.withLock(\.progress.isComplete) { taskWasCancelled() }
      })
  }

  /// Closes the group of workers after all nodes have ended.
  private func close(_ workers: WorkerGroup) {
    workers.close()
    // A worker that is still waiting for a slot has nothing left to execute.
    state.withLock { $0.startingWorker.take() }?.cancel(nil)
  }
}
