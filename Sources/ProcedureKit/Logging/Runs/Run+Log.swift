extension Run {
  /// The log of the run, with its identity.
  var log: ProcedureLog {
    core.log.from { [self] in
      let run = reported
      return core.logFacts(of: identity, attempt: Int(attempt), parent: run.parent?.reported.id)
    }
  }

  /// Tells that a child has failed, and that the run stops for this reason.
  func logStop(by child: Run, _ outcome: ProcedureOutcome<Void>) {
    guard case .failed(let error) = outcome else { return }
    log.info("the child \(child.identity) has failed, and stops its parent: \(error)")
  }
}

extension GraphRun {
  /// Tells that a node has failed, and that the graph stops for this reason.
  func logStop(by node: Int32, _ error: any Error, of run: Run) {
    run.log.info("the node \(identity(of: node)) has failed, and stops the graph: \(error)")
  }
}
