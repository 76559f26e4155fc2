extension Run {
  /// The log of the run, with its identity.
  var log: ProcedureLog {
    core.log.from { [self] in
      let run = reported
      return core.logFacts(of: identity, attempt: Int(attempt), parent: run.parent?.reported.id)
    }
  }

  /// The names of procedures that were retried without a delay and without a limit.
  private static let endlessRetries = Locked<Set<ByteText>>([])

  /// Warns of retries without a delay and without a limit: once for each name, and for 1,000 names at most.
  func warnOfEndlessRetries() {
    let name = reported.name
    let isNew = Self.endlessRetries.withLock { $0.count < 1_000 && $0.insert(ByteText(name)).inserted }
    guard isNew else { return }
    log.warning(
      "\(name.quoted) is retried without a delay and without a limit: give the retry maxAttempts, a budget, or a schedule with delays"
    )
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
