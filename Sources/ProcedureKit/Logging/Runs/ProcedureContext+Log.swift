extension ProcedureContext {
  /// The log of the procedure: that of the queue, else ``ProcedureLog/shared``.
  ///
  /// Each message has the metadata `procedure.id`, `procedure.name` and `attempt`, on a queue `queue.name`, and for a child
  /// or a node `parent`, the id of its parent or graph.
  public var log: ProcedureLog {
    switch frame {
    case .run(let run): run.log
    case .node(let node):
      node.worker.core.log.from { [node] in
        node.worker.core.logFacts(of: node.identity, attempt: 1, parent: node.worker.reported.id)
      }
    }
  }
}
