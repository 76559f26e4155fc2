import Synchronization

/// The context of the nodes that one worker of a graph executes, one after another.
///
/// A node is no object as long as it has nothing but a body. Its run is made when something needs one: a level, a child, a wait, a handler.
final class NodeFrame: Sendable {
  private struct State {
    var node: Int32 = -1
    var run: Run?
  }

  private let graph: GraphRun
  private let worker: Run
  private let state = Mutex(State())

  init(_ graph: GraphRun, worker: Run) {
    self.graph = graph
    self.worker = worker
  }

  var identity: ProcedureIdentity { graph.identity(of: state.withLock(\.node)) }

  var isCancelled: Bool { graph.isStopping || state.withLock(\.run)?.isToldToStop ?? false }

  /// The run of the node that executes.
  var run: Run {
    // The run is known only once it has arrived: another task of the body would take it for one that has ended.
    let (run, adoption) = state.withLock { state -> (Run, Run.Adoption?) in
      if let run = state.run { return (run, nil) }
      let run = graph.makeRun(of: state.node, worker: worker)
      state.run = run
      return (run, run.arriveAsNode())
    }
    if let adoption { run.arrivedAsNode(adoption, isCancelled: graph.isStopping) }
    return run
  }

  /// Makes the run of a node that has more than a body.
  func makeRun(_ level: Level, _ closures: Level.Closures?) -> Run {
    graph.makeRun(of: state.withLock(\.node), worker: worker, level, closures)
  }

  /// Another node is executed from now on.
  func stand(for node: Int32) {
    state.withLock { $0.node = node }
  }

  /// The run that was made for the node that has ended, if any.
  func takeRun() -> Run? {
    state.withLock { $0.run.take() }
  }
}
