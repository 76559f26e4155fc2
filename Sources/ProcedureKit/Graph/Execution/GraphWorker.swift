/// A worker that executes nodes of a graph one after another, in one task and with one slot.
struct GraphWorker {
  private let graph: GraphRun
  private let worker: Run
  private let owner: NodeFrame.Owner

  init(_ graph: GraphRun, worker: Run) {
    self.graph = graph
    self.worker = worker
    owner = NodeFrame.Owner(graph: graph, worker: worker)
  }

  /// Executes nodes until none is left. If `leavesWhenMoreIsReady` is `true`, stops as soon as there is a ready node that another worker
  /// could execute.
  ///
  /// The function is `@concurrent`, so it does not hop back to the caller's actor after each node.
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

  /// Executes one node in its own context. A task that outlives the body retains this context.
  @inline(__always) @concurrent
  private func executeNode(_ node: Int32) async -> GraphProgress.Advance {
    if graph.isStopping { return graph.nodeAbandoned(node) }
    // The queue is suspended, so even an executing graph starts no further nodes (Q2).
    if worker.core.isGated {
      graph.values.nodeHeld(node)
      await worker.core.waitWhileSuspended(worker)
      // A cancellation ends the wait, too, possibly before its handler has cancelled the graph.
      if worker.isCancelledOrStopping || graph.run.isCancelledOrStopping
        || Task.isCancelled && !worker.cancellationScope.ignoresTask
      {
        graph.taskWasCancelled()
      }
      if graph.isStopping { return graph.nodeAbandoned(node) }
      graph.values.nodeTaken(node)
    }
    graph.nodeStarts(node, by: worker)
    let frame = NodeFrame(owner: owner, node: node)
    var failure: (any Error)?
    do {
      try await ProcedureContext.bound.withValue(.init(ProcedureContext(frame))) {
        if graph.makesRuns, graph.plan.traits[Int(node)].hasOnlyBody {
          try await graph.executeAsRun(node, worker: worker)
        } else {
          try await graph.plan.bodies[Int(node)].execute(graph.values)
        }
      }
    } catch {
      failure = error
    }
    let run = graph.bodyEnded(of: node)
    if let run { failure = await run.finishAsNode(failure) }
    // A cancelled node continues without a slot (C7), but the worker needs a slot for the next node (Q1).
    if failure != nil, run != nil { await worker.reacquireSlot() }
    if Task.isCancelled, !worker.cancellationScope.ignoresTask { graph.taskWasCancelled() }
    return failure.map { graph.nodeFailed(node, $0, run, hasExecuted: true) } ?? graph.nodeSucceeded(node, run)
  }
}

extension Run {
  /// Finishes the run of a node whose body has ended: awaits the children of the run, and returns the error of the node, if any.
  func finishAsNode(_ failure: (any Error)?) async -> (any Error)? {
    core.update { $0[self].details.result = failure.map { .failure($0) } ?? .success(()) }
    await finish()
    do {
      try outcome?.withoutValue.get(of: identity)
      return nil
    } catch {
      return error
    }
  }
}

/// The context of a node that a worker of a graph is executing.
///
/// A node without modifiers starts without a run, unless the queue has an interceptor. The graph creates a run when the body needs one, for
/// example for a child, a wait, or a handler.
struct NodeFrame: Sendable {
  /// The graph and the worker, in an object that all nodes of the worker share. The context of a node therefore consists of only a
  /// reference and a number.
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
      || !worker.cancellationScope.ignoresTask && Task.isCancelled
  }

  /// The run of the node, which is created on first use. If a task that has outlived the body reads the property, the run has already
  /// ended.
  var run: Run { graph.run(of: node, worker: worker) }

  /// Creates the run of a node that has modifiers.
  func makeRun(_ layer: ModifierLayer, _ closures: ModifierLayer.Closures?, _ body: @escaping Run.Body) -> Run {
    graph.makeRun(of: node, worker: worker, layer.named(graph.plan.traits[Int(node)].name), closures, body)
  }
}
