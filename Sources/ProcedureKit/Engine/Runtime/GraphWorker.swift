/// Internal. What executes one node after another in one run of a graph: the task that runs the graph, or a child of it.
///
/// Invariant: it is made, used and forgotten in the task that it names, which `task` therefore never outlives.
struct GraphWorker {
  private let run: GraphRun
  /// What holds the slot in which its nodes execute; `nil` without a queue.
  private let holder: SlotHolder?
  private let task: UnsafeCurrentTask
  // What every node needs, at hand.
  private let plan: GraphPlan
  private let arena: ValueArena
  private let core: QueueCore?

  init(_ run: GraphRun, holder: SlotHolder?) {
    guard let task = withUnsafeCurrentTask(body: { $0 }) else {
      preconditionFailure("GraphWorker: there is no current task")
    }
    self.run = run
    self.holder = holder
    self.task = task
    plan = run.plan
    arena = run.arena
    core = holder?.core
  }

  /// What the task of an added worker does, from its start to its end.
  static func work(for run: GraphRun, holding slot: GraphSlot?) async {
    let worker = GraphWorker(run, holder: slot ?? run.holder)
    _ = await worker.execute(from: run.workerStarted(), leavesWhenMoreIsReady: false)
    if let slot { slot.core.withdraw(slot) }
  }

  /// Executes nodes until none is left for this worker.
  ///
  /// The context is bound for many nodes at once; anew only where something still refers to what was bound, which goes on
  /// to stand for the node that it was bound for.
  ///
  /// - Parameters:
  ///   - first: The first node.
  ///   - leavesWhenMoreIsReady: Whether to leave also as soon as there is work for a second worker.
  /// - Returns: What follows.
  func execute(
    from first: GraphProgress.Advance, leavesWhenMoreIsReady: Bool
  ) async -> GraphProgress.Advance {
    var advance = first
    var fairness = run.fairness
    while advance.next >= 0, !(leavesWhenMoreIsReady && advance.addsWorker) {
      let scope = NodeScope(run, holder: holder)
      await ProcedureContext(scope: scope).run {
        await execute(from: &advance, leavesWhenMoreIsReady, &fairness, in: scope)
      }
    }
    return advance
  }

  /// The same within one binding of the context.
  private func execute(
    from advance: inout GraphProgress.Advance, _ leavesWhenMoreIsReady: Bool, _ fairness: inout Fairness,
    in scope: NodeScope
  ) async {
    let references = scope.references
    var isShared = false
    repeat {
      let node = advance.next
      scope.stand(for: node)
      if mayHaveToWait(node), let other = await wait(insteadOf: node) {
        isShared = scope.isShared(beyond: references)
        advance = other
      } else {
        run.nodeStarts(node)
        var failure: (any Error)?
        do {
          let body = plan.bodies[Int(node)]
          try await body.function(body.pointer, arena)
        } catch {
          failure = error
        }
        // Whoever refers to the scope may still produce something, until it is told that the body has ended.
        isShared = scope.isShared(beyond: references)
        if isShared, scope.endProduction() != nil {
          failure = await settleChildren(failure)
          run.childrenSettled(of: scope)
        }
        noteCancellation()
        advance = failure.map { run.nodeFailed(node, $0, hasExecuted: true) } ?? run.nodeSucceeded(node)
      }
      if fairness.pieceEnds() { advance = await yield(before: advance) }
    } while advance.next >= 0 && !(leavesWhenMoreIsReady && advance.addsWorker) && !isShared
  }

  /// Waits for what the node has produced.
  ///
  /// - Returns: Why the node has failed, if it has.
  private func settleChildren(_ failure: (any Error)?) async -> (any Error)? {
    do {
      try await ProcedureContext.current?.settleChildren(failure.map { .failure($0) } ?? .success(()))
      return nil
    } catch {
      return error
    }
  }

  private func mayHaveToWait(_ node: Int32) -> Bool {
    core?.isGated ?? false || plan.hasConditions(node)
  }

  /// Waits for the worker's turn, or evaluates the node's conditions, if it has to.
  ///
  /// - Returns: What follows then; `nil` if the node is to be executed.
  private func wait(insteadOf node: Int32) async -> GraphProgress.Advance? {
    if let holder, !holder.core.hasTurn(holder) { return await waitForTurn(holder, insteadOf: node) }
    if plan.hasConditions(node), !run.isJudged(node) { return await judge(node) }
    return nil
  }

  /// Lets other tasks have the thread. The run may have been cancelled meanwhile.
  private func yield(before advance: GraphProgress.Advance) async -> GraphProgress.Advance {
    await Task.yield()
    noteCancellation()
    return advance.next >= 0 && run.isStopping ? run.nodeAbandoned(advance.next) : advance
  }

  /// Cancels the run if this task has been cancelled, before anything follows from what a node came to because of that: a
  /// task's cancellation reaches its innermost handlers first.
  private func noteCancellation() {
    if task.isCancelled { run.taskWasCancelled() }
  }

  /// Whoever has a slot first takes what comes first, which may be this node.
  private func waitForTurn(_ holder: SlotHolder, insteadOf node: Int32) async -> GraphProgress.Advance {
    run.nodePutBack(node)
    await holder.core.waitForTurn(holder, in: run.context)
    noteCancellation()
    return run.workerAsked()
  }

  /// Evaluates a node's conditions, without a slot. The node is executed when it is its turn again.
  private func judge(_ node: Int32) async -> GraphProgress.Advance {
    let traits = plan.traits[Int(node)]
    do {
      try await ProcedureContext.current?.requireConditions(traits.conditions, name: traits.name)
    } catch {
      noteCancellation()
      for input in plan.inputs(of: node) { arena.giveUpShare(of: input) }
      return run.nodeFailed(node, error, hasExecuted: false)
    }
    noteCancellation()
    return run.nodeJudged(node)
  }
}

/// Internal. The slot of a worker that a graph adds to its queue.
///
/// Invariant: what it adds to ``SlotHolder`` is constant, or guarded by the lock of `core`.
final class GraphSlot: SlotHolder, @unchecked Sendable {
  private let onGrant: @Sendable (GraphSlot) -> Void
  /// Whether its next wake calls `granted` instead of resuming a task, because it has no task yet to wait with.
  var isWokenByCall = false

  init(core: QueueCore, parent: ProcedureContext, onGrant: @escaping @Sendable (GraphSlot) -> Void) {
    self.onGrant = onGrant
    super.init(core: core, extras: RunExtras(startedFrom: parent))
  }

  override func takesCall() -> Bool {
    defer { isWokenByCall = false }
    return isWokenByCall
  }

  override func granted() { onGrant(self) }
}
