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

  override func lendSlot() { holder?.lendSlot() }

  override func regainSlot() async { await holder?.regainSlot() }

  /// Executes nodes until none is left for this worker.
  func work() async {
    var fairness = Fairness()
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
    if let holder, holder.core.isGated {
      await holder.core.takeTurn(holder, in: run.context)
      run.noteCancellation()
      if run.isStopping { return run.nodeAbandoned(node) }
    }
    let step = run.plan.steps[Int(node)]
    let context = ProcedureContext(scope: self, part: node)
    let ending = await context.run { await execute(step, as: node, in: context) }
    run.noteCancellation()
    switch ending {
    case .succeeded: return run.nodeSucceeded(node)
    case .failed(let error): return run.nodeFailed(node, error, hasExecuted: true)
    case .refused(let error): return run.nodeFailed(node, error, hasExecuted: false)
    }
  }

  /// What became of a node.
  private enum Ending {
    case succeeded
    case failed(any Error)
    /// A condition kept it from being executed.
    case refused(any Error)
  }

  private func execute(_ step: NodeStep, as node: Int32, in context: ProcedureContext) async -> Ending {
    do {
      if !step.conditions.isEmpty { try await requireConditions(of: step, in: context) }
    } catch {
      return .refused(error)
    }
    run.report(.willExecute(attempt: 1), of: node)
    do {
      try await step.execute(in: run.arena)
      return .succeeded
    } catch {
      return .failed(error)
    }
  }

  private func requireConditions(of step: NodeStep, in context: ProcedureContext) async throws {
    do {
      try await context.requireConditions(step.conditions, name: step.name)
    } catch {
      for input in step.inputs { run.arena.giveUpShare(of: input) }
      throw error
    }
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
