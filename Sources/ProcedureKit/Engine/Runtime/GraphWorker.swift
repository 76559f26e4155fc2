/// Internal. What executes one node after another in one run of a graph: the task that runs the graph, or a child of it.
///
/// Invariant: it stores only constants.
final class GraphWorker: ProcedureScope, @unchecked Sendable {
  let run: GraphRun
  /// What holds the slot in which its nodes execute; `nil` without a queue.
  let holder: SlotHolder?

  init(_ run: GraphRun, holder: SlotHolder?) {
    self.run = run
    self.holder = holder
    super.init(parent: run.context)
  }

  override func identity(of part: Int32) -> ProcedureIdentity { run.identity(of: part) }

  override var isCancelled: Bool { run.isStopping }

  override func report(_ kind: ProcedureEvent.Kind, of part: Int32) { run.report(kind, of: part) }

  override func lendSlot() { holder?.lendSlot() }

  override func regainSlot() async { await holder?.regainSlot() }

  /// Executes nodes until none is left for this worker.
  func work() async {
    var fairness = run.fairness
    var advance = run.workerStarted()
    while advance.next >= 0 {
      advance = await execute(advance.next)
      if fairness.pieceEnds() { advance = await yield(before: advance) }
    }
    if let holder = holder as? GraphSlot { holder.core.withdraw(holder) }
  }

  /// Lets other tasks have the thread. The run may have been cancelled meanwhile.
  func yield(before advance: GraphProgress.Advance) async -> GraphProgress.Advance {
    await Task.yield()
    run.noteCancellation()
    return advance.next >= 0 && run.isStopping ? run.nodeAbandoned(advance.next) : advance
  }

  /// Executes one node, and says what follows.
  func execute(_ node: Int32) async -> GraphProgress.Advance {
    if let holder, !holder.core.hasTurn(holder) {
      // Whoever has a slot first takes what comes first, which may be this node.
      run.nodePutBack(node)
      await holder.core.waitForTurn(holder, in: run.context)
      run.noteCancellation()
      return run.workerAsked()
    }
    let step = run.plan.steps[Int(node)]
    let context = ProcedureContext(scope: self, part: node)
    if !step.conditions.isEmpty, !run.isJudged(node) { return await judge(step, as: node, in: context) }
    run.report(.willExecute(attempt: 1), of: node)
    let failure = await context.run { await execute(step, in: context) }
    run.noteCancellation()
    if let failure { return run.nodeFailed(node, failure, hasExecuted: true) }
    return run.nodeSucceeded(node)
  }

  /// - Returns: What the body threw.
  private func execute(_ step: NodeStep, in context: ProcedureContext) async -> (any Error)? {
    do {
      try await step.execute(in: run.arena, context)
      return nil
    } catch {
      return error
    }
  }

  /// Evaluates a node's conditions, without a slot. The node is executed when it is its turn again.
  private func judge(
    _ step: NodeStep, as node: Int32, in context: ProcedureContext
  ) async -> GraphProgress.Advance {
    let failure = await context.run { () async -> (any Error)? in
      do {
        try await context.requireConditions(step.conditions, name: step.name)
        return nil
      } catch {
        return error
      }
    }
    run.noteCancellation()
    guard let failure else { return run.nodeJudged(node) }
    for input in step.inputs { run.arena.giveUpShare(of: input) }
    return run.nodeFailed(node, failure, hasExecuted: false)
  }
}

/// Internal. The slot of a worker that a graph adds to its queue.
///
/// Invariant: it adds only a constant to ``SlotHolder``.
final class GraphSlot: SlotHolder, @unchecked Sendable {
  private let onGrant: @Sendable (GraphSlot) -> Void

  init(core: QueueCore, parent: ProcedureContext?, onGrant: @escaping @Sendable (GraphSlot) -> Void) {
    self.onGrant = onGrant
    super.init(core: core, parent: parent)
  }

  override func granted() { onGrant(self) }
}
