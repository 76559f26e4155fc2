/// The context of a node that a worker of a graph executes.
///
/// A node is no run as long as it has nothing but a body. The graph makes the run when something needs one: a child, a wait, a handler.
struct NodeFrame: Sendable {
  let graph: GraphRun
  let worker: Run
  let node: Int32

  var identity: ProcedureIdentity { graph.identity(of: node) }

  var isCancelled: Bool {
    graph.isStopping || graph.runMade(for: node)?.isToldToStop ?? false
      || !worker.ignoresTaskCancellation && Task.isCancelled
  }

  /// The run of the node. For a task that the body has left behind, a run that has ended.
  var run: Run { graph.run(of: node, worker: worker) }

  /// Makes the run of a node that has more than a body.
  func makeRun(_ level: Level, _ closures: Level.Closures?) -> Run {
    graph.makeRun(of: node, worker: worker, level, closures)
  }
}
