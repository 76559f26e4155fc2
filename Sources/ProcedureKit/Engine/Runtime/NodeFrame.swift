import Synchronization

/// The context of a node that a worker of a graph executes.
///
/// A node is no run as long as it has nothing but a body. Its run is made when something needs one: a level, a child, a wait, a handler.
final class NodeFrame: Sendable {
  private struct State {
    var run: Run?
    var hasEnded = false
  }

  private let graph: GraphRun
  private let node: Int32
  private let worker: Run
  private let state = Mutex(State())

  init(_ graph: GraphRun, _ node: Int32, worker: Run) {
    self.graph = graph
    self.node = node
    self.worker = worker
  }

  var identity: ProcedureIdentity { graph.identity(of: node) }

  var isCancelled: Bool { graph.isStopping || state.withLock(\.run)?.isToldToStop ?? false }

  /// The run of the node. For a task that the body has left behind, it is a run that has ended.
  var run: Run {
    // The run is known only once it has arrived: another task of the body would take it for one that has ended.
    let (run, adoption) = state.withLock { state -> (Run, Run.Adoption?) in
      if let run = state.run { return (run, nil) }
      let run = graph.makeRun(of: node, worker: worker)
      state.run = run
      return (run, state.hasEnded ? .refused : run.arriveAsNode())
    }
    if let adoption { run.arrivedAsNode(adoption, isCancelled: graph.isStopping) }
    return run
  }

  /// Makes the run of a node that has more than a body.
  func makeRun(_ level: Level, _ closures: Level.Closures?) -> Run {
    graph.makeRun(of: node, worker: worker, level, closures)
  }

  /// The body has ended. The run that was made for the node, if any.
  func bodyEnded() -> Run? {
    state.withLock { state in
      state.hasEnded = true
      return state.run
    }
  }
}
