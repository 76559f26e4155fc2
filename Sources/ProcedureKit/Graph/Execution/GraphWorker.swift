/// Executes nodes of a graph, one after another, in one task and with one slot.
struct GraphWorker {
  private let graph: GraphRun
  private let worker: Run
  private let plan: GraphPlan
  private let owner: NodeFrame.Owner

  init(_ graph: GraphRun, worker: Run) {
    self.graph = graph
    self.worker = worker
    plan = graph.plan
    owner = NodeFrame.Owner(graph: graph, worker: worker)
  }

  /// Executes nodes until there is none, or, if told to, until another worker could execute more.
  ///
  /// The function is on no actor from its beginning, so that it need not return to an actor after each node.
  @concurrent
  func execute(from first: GraphProgress.Advance, leavesWhenMoreIsReady: Bool) async -> GraphProgress.Advance {
    var advance = first
    var yieldPolicy = YieldPolicy(worker.core.time)
    while advance.next >= 0, !(leavesWhenMoreIsReady && advance.addsWorker) {
      advance = await executeNode(advance.next)
      if yieldPolicy.shouldYield() { await Task.yield() }
    }
    return advance
  }

  /// Executes one node, with a context of its own: a task that the body leaves behind keeps the context.
  @inline(__always) @concurrent
  private func executeNode(_ node: Int32) async -> GraphProgress.Advance {
    if graph.isStopping { return graph.nodeAbandoned(node) }
    if worker.core.isGated {
      graph.values.nodeHeld(node)
      await worker.core.waitWhileSuspended(worker)
      if Task.isCancelled, !worker.ignoresTaskCancellation { graph.taskWasCancelled() }
      if graph.isStopping { return graph.nodeAbandoned(node) }
      graph.values.nodeTaken(node)
    }
    graph.nodeStarts(node, by: worker)
    let frame = NodeFrame(owner: owner, node: node)
    var failure: (any Error)?
    do {
      try await ProcedureContext.bound.withValue(ProcedureContext(frame)) {
        if graph.makesRuns, plan.traits[Int(node)].isPlain {
          try await graph.executeAsRun(node, worker: worker)
        } else {
          try await plan.bodies[Int(node)].execute(graph.values)
        }
      }
    } catch {
      failure = error
    }
    let run = graph.bodyEnded(of: node)
    if let run { failure = await run.finishAsNode(failure) }
    // A node that was stopped has ended without the slot: the worker needs it for the next node (Q1).
    if failure != nil, run != nil { await worker.reacquireSlot() }
    if Task.isCancelled, !worker.ignoresTaskCancellation { graph.taskWasCancelled() }
    return failure.map { graph.nodeFailed(node, $0, run, hasExecuted: true) } ?? graph.nodeSucceeded(node, run)
  }
}

extension Run {
  /// The run of a node comes when its body executes already.
  func arriveAsNode() -> Adoption {
    let adoption = parent?.adopt(self) ?? .refused
    guard adoption != .refused else { return .refused }
    core.send { state, effects in
      _ = core.admitted(self, priority: 0, needs: [], isNested: true, &state, &effects)
      state.machine.bodyStarted(state.runs[self].member)
      state.runs[self].hasStarted = true
    }
    return adoption
  }

  /// The run of a node has come: it ends if the graph has left its task behind, and is cancelled like the graph.
  func arrivedAsNode(_ adoption: Adoption, isCancelled: Bool) {
    if adoption == .refused { return refuse(CancellationError()) }
    if isCancelled || adoption == .cancelled { cancelLikeParent() }
  }

  /// The body of a node has ended: its children are awaited. The error that the node ends with, if any.
  func finishAsNode(_ failure: (any Error)?) async -> (any Error)? {
    core.update { $0[self].details.result = failure.map { .failure($0) } ?? .success(()) }
    await finish()
    do {
      _ = try outcome?.get(of: identity)
      return nil
    } catch {
      return error
    }
  }
}

/// The context of a node that a worker of a graph executes.
///
/// A node is no run as long as it has nothing but a body. The graph makes the run when something needs one: a child, a wait, a handler.
struct NodeFrame: Sendable {
  /// The graph and the worker, in one object that all nodes of the worker share, so that a context is one reference and a number.
  final class Owner: Sendable {
    let graph: GraphRun
    let worker: Run

    init(graph: GraphRun, worker: Run) { (self.graph, self.worker) = (graph, worker) }
  }

  let owner: Owner
  let node: Int32

  var graph: GraphRun { owner.graph }
  var worker: Run { owner.worker }

  var identity: ProcedureIdentity { graph.identity(of: node) }

  var isCancelled: Bool {
    graph.isStopping || graph.runMade(for: node)?.isCancelledOrStopping ?? false
      || !worker.ignoresTaskCancellation && Task.isCancelled
  }

  /// The run of the node. For a task that the body has left behind, a run that has ended.
  var run: Run { graph.run(of: node, worker: worker) }

  /// Makes the run of a node that has more than a body.
  func makeRun(_ layer: ModifierLayer, _ closures: ModifierLayer.Closures?) -> Run {
    graph.makeRun(of: node, worker: worker, layer, closures)
  }
}
