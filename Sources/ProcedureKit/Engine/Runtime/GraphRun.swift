import Synchronization

/// Internal. One run of a graph: what performs the decisions of ``GraphProgress``.
///
/// As long as one node at a time is ready, the task that runs the graph executes them itself. Where more become ready,
/// workers take over, children of one task group: a worker executes a node and goes straight on with a successor; one
/// more worker is added only while something is ready that none has taken. No task is made for a node.
///
/// On a queue, every worker holds a slot of it: the first one that of the body which runs the graph.
final class GraphRun: Sendable {
  private struct State {
    var progress: GraphProgress
    var failures: [ProcedureFailure] = []
    var isCancelled = false
    /// Where workers are ordered, once they have taken over.
    var desk: CrewDesk?
    /// The worker that has been ordered and waits for a slot.
    var claim: GraphSlot?
    /// Nodes whose conditions are satisfied.
    var judged: Set<Int32> = []
    /// Nodes whose events are told and that have not finished.
    var watched: Set<Int32> = []
    /// Nodes that have produced something, which is not settled.
    var producers: [ObjectIdentifier: NodeScope] = [:]
    /// Whether all nodes have ended: what a condition, or a task that it has left behind, produces then is not told any more.
    var hasEnded = false
  }

  let plan: GraphPlan
  let arena: ValueArena
  private let countdown: GraphCountdown
  let context: ProcedureContext
  let holder: SlotHolder?
  private let broadcaster: EventBroadcaster<ProcedureEvent>?
  private let stopsAtFirstFailure: Bool
  private let firstID: ProcedureID
  private let state: Mutex<State>
  /// Whether somebody was told of the nodes when the run began.
  private let isWatched = Atomic(false)

  init(_ plan: GraphPlan, in context: ProcedureContext, limit: Int, stopsAtFirstFailure: Bool) {
    self.plan = plan
    self.context = context
    self.stopsAtFirstFailure = stopsAtFirstFailure
    arena = ValueArena(plan.layout)
    holder = context.slotHolder
    broadcaster = holder?.core.broadcaster
    firstID = .reserve(plan.traits.count)
    countdown = GraphCountdown(plan.shape)
    state = Mutex(State(progress: GraphProgress(countdown, limit: limit, stopsAtFirstFailure: stopsAtFirstFailure)))
  }

  /// Executes all nodes. Cancelling the caller cancels those that execute, and starts no more.
  ///
  /// - Throws: The error of the run, unless its output can be read from the arena.
  func execute() async throws {
    announceNodes()
    await withRunCancellationHandler(in: context, key: self) {
      let advance = await GraphWorker(self, holder: holder).execute(
        from: state.withLock { $0.progress.started() }, leavesWhenMoreIsReady: true)
      if !advance.isComplete { await executeByWorkers(takingOverFrom: advance.next) }
    } onCancel: {
      self.cancel()
    }
    forgetProducers()
    finishUnstartedNodes()
    try throwIfFailed()
  }

  private func executeByWorkers(takingOverFrom node: Int32) async {
    let desk = CrewDesk()
    let isComplete = state.withLock { state in
      if node >= 0 { state.progress.nodePutBack(node) }
      state.desk = desk
      return state.progress.isComplete
    }
    guard !isComplete else { return }
    // In this order, so that the worker stands in line before the slot is lent that it is to have.
    orderWorker()
    holder?.lendSlot()
    await Spawner.runCrew(at: desk)
    await holder?.regainSlot()
    state.withLock { state in state.desk = nil }
  }

  private func throwIfFailed() throws {
    let (failures, isCancelled) = state.withLock { ($0.failures, $0.isCancelled) }
    if isCancelled { throw CancellationError() }
    guard let first = failures.first else { return }
    if stopsAtFirstFailure { throw first.error }
    throw ProcedureError.partsFailed(procedure: context.identity, failures: failures)
  }

  func identity(of node: Int32) -> ProcedureIdentity {
    ProcedureIdentity(id: firstID.advanced(by: Int(node)), name: plan.traits[Int(node)].name)
  }

  /// How one of its workers is fair to other tasks.
  var fairness: Fairness { Fairness(holder?.core.time) }

  var isStopping: Bool { countdown.isStopping }

  // MARK: What happens, and what follows

  func workerStarted() -> GraphProgress.Advance {
    carryOut(state.withLock { $0.progress.workerStarted() })
  }

  func nodeStarts(_ node: Int32) {
    if isObserved { report(.willExecute(attempt: 1), of: node) }
  }

  func nodeSucceeded(_ node: Int32) -> GraphProgress.Advance {
    if tellsOfEnds { reportEnd(of: node, isStopping ? cancelledOutcome : .finished(()), hasExecuted: true) }
    let released = countdown.nodeSucceeded(node)
    if let next = countdown.successor(among: released) { return GraphProgress.Advance(next: next) }
    return carryOut(state.withLock { $0.progress.nodeSucceeded(releasing: released) })
  }

  func isJudged(_ node: Int32) -> Bool {
    state.withLock { $0.judged.contains(node) }
  }

  /// A node's conditions are satisfied: it is ready to be executed, but what is ready as well may come first.
  func nodeJudged(_ node: Int32) -> GraphProgress.Advance {
    carryOut(
      state.withLock { state in
        state.judged.insert(node)
        return state.progress.nodeJudged(node)
      })
  }

  /// A worker that had taken a node has to wait for its turn.
  func nodePutBack(_ node: Int32) {
    state.withLock { $0.progress.nodePutBack(node) }
  }

  /// A worker that executes nothing asks for a node.
  func workerAsked() -> GraphProgress.Advance {
    carryOut(state.withLock { $0.progress.workerAsked() })
  }

  /// A worker had taken a node and will not execute it, because the run is stopping.
  func nodeAbandoned(_ node: Int32) -> GraphProgress.Advance {
    carryOut(state.withLock { $0.progress.nodeAbandoned() })
  }

  func nodeFailed(_ node: Int32, _ error: any Error, hasExecuted: Bool) -> GraphProgress.Advance {
    // The cancel of the run may be seen before it comes here.
    if !isStopping, context.isCancelled { taskWasCancelled() }
    // What ends once the run stops is told to be cancelled, and so is what depends on it.
    let isCancelled = isStopping
    let outcome = ProcedureOutcome<Void>(thrown: error)
    let ending: GraphProgress.Ending = if case .ignored = outcome { .ignored } else { .failed }
    reportEnd(of: node, isCancelled ? cancelledOutcome : outcome, hasExecuted: hasExecuted)
    let skipped = countdown.nodeStopped(node, ending)
    // Before anything is released, since a node that accepts the failure may be executed at once.
    arena.recordError(error, of: plan.slot(of: node))
    for skip in skipped { arena.recordError(self.error(of: skip, since: node, error), of: plan.slot(of: skip.node)) }
    let released = countdown.release(byStopping: node, skipped)
    let advance = state.withLock { state in
      let wasStopping = state.progress.isStopping
      let (advance, isUnaccepted) = state.progress.nodeStopped(node, ending, releasing: released)
      if isUnaccepted, !wasStopping {
        state.failures.append(ProcedureFailure(procedure: identity(of: node), error: error))
      }
      return advance
    }
    for skip in skipped { finishSkipped(skip, since: node, error, isCancelled: isCancelled) }
    return carryOut(advance)
  }

  /// What a node throws that is not executed because of another one.
  private func error(of skip: GraphCountdown.Skipped, since node: Int32, _ root: any Error) -> ProcedureError {
    if skip.ending == .ignored, case .ignored(_, let condition)? = root as? ProcedureError {
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
    for input in plan.inputs(of: skip.node) { arena.giveUpShare(of: input) }
  }

  /// A task has been cancelled that executes the run.
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

  /// Performs all of an advance but its next node, which is the worker's own affair.
  private func carryOut(_ advance: GraphProgress.Advance) -> GraphProgress.Advance {
    guard advance.addsWorker || advance.cancelsWorkers || advance.isComplete else { return advance }
    if advance.cancelsWorkers { cancelChildren() }
    guard let desk = state.withLock({ $0.desk }) else { return advance }
    if advance.addsWorker { orderWorker() }
    if advance.cancelsWorkers { desk.place(.cancelAll) }
    if advance.isComplete {
      desk.close()
      withdrawClaim()
    }
    return advance
  }

  // MARK: What nodes produce

  /// What the node produces is cancelled with the run, until `childrenSettled`, which follows when all that is there has ended.
  /// Whoever produces it asks afterwards whether the run was cancelled before.
  func tellOfCancels(_ node: NodeScope) {
    state.withLock { state in
      if !state.hasEnded { state.producers[ObjectIdentifier(node)] = node }
    }
  }

  func childrenSettled(of node: NodeScope) {
    let former = state.withLock { $0.producers.removeValue(forKey: ObjectIdentifier(node)) }
    _ = former
  }

  /// They refer to this run, and would never be let go of.
  private func forgetProducers() {
    let former = state.withLock { state in
      state.hasEnded = true
      defer { state.producers = [:] }
      return state.producers
    }
    _ = former
  }

  private func cancelChildren() {
    let producers = state.withLock { Array($0.producers.values) }
    for node in producers { node.children?.cancel(context.cancellationReason) }
  }

  // MARK: Workers

  /// Orders a worker: at once without a queue and in hooks of the end, and as soon as there is a slot otherwise.
  private func orderWorker() {
    guard let holder, !holder.core.needsNoSlot(holder) else { return addWorker(holding: nil) }
    let slot = GraphSlot(core: holder.core, parent: context) { [self] slot in addWorker(holding: slot) }
    let isNeeded = state.withLock { state in
      guard !state.progress.isComplete else { return false }
      state.claim = slot
      return true
    }
    guard isNeeded else { return }
    holder.core.claim(slot, for: holder)
    // The run may have been completed, by a cancel, before the claim could be withdrawn.
    if state.withLock({ $0.progress.isComplete }) { withdrawClaim() }
  }

  private func withdrawClaim() {
    if let claim = state.withLock({ $0.claim.take() }) { claim.core.withdrawUnlessGranted(claim) }
  }

  private func addWorker(holding slot: GraphSlot?) {
    let desk = state.withLock { state in
      state.claim = nil
      return state.desk
    }
    let isPlaced = desk?.place(.add(priority: nil) { await GraphWorker.work(for: self, holding: slot) }) ?? false
    // The run is complete: its workers are not waited for any more.
    if !isPlaced, let slot { slot.core.withdraw(slot) }
  }

  // MARK: Events

  private var isObserved: Bool {
    broadcaster?.isObserved ?? false
  }

  /// Whether the end of a node has to be told or noted.
  private var tellsOfEnds: Bool {
    isObserved || isWatched.load(ordering: .relaxed)
  }

  private func announceNodes() {
    guard isObserved else { return }
    isWatched.store(true, ordering: .relaxed)
    state.withLock { $0.watched = Set(0..<Int32(plan.traits.count)) }
    for node in plan.traits.indices { report(.didAttach, of: Int32(node)) }
  }

  /// Reports an event of a node. Those of one node are reported by one task after another, and so are in order.
  func report(_ kind: @autoclosure () -> ProcedureEvent.Kind, of node: Int32) {
    guard isObserved, let core = holder?.core else { return }
    let identity = identity(of: node)
    var effects: [EventEffect] = []
    let event = ProcedureEvent(id: identity.id, name: identity.name, instant: core.time.now, kind: kind())
    core.broadcaster.send(event, &effects)
    for effect in effects { effect.perform() }
  }

  /// What becomes of nodes that end because the run does: cancelled like that, or for no reason of its own where a node has failed.
  private var cancelledOutcome: ProcedureOutcome<Void> { .cancelled(reason: context.cancellationReason) }

  private func reportEnd(of node: Int32, _ outcome: @autoclosure () -> ProcedureOutcome<Void>, hasExecuted: Bool) {
    guard tellsOfEnds else { return }
    state.withLock { _ = $0.watched.remove(node) }
    guard isObserved else { return }
    let outcome = outcome()
    if hasExecuted { report(.didExecute(attempt: 1), of: node) }
    if case .cancelled(let reason) = outcome { report(.didCancel(reason: reason), of: node) }
    report(.willFinish(outcome), of: node)
    report(.didFinish(outcome), of: node)
  }

  /// Nodes that were never started, because the run stopped before: whoever was told of them is told of their end.
  private func finishUnstartedNodes() {
    let unstarted = state.withLock { $0.watched }
    for node in unstarted.sorted() { reportEnd(of: node, cancelledOutcome, hasExecuted: false) }
  }
}
