extension QueueCore {
  /// The log of the queue, else the log of the process.
  var log: ProcedureLog { ownLog ?? .shared }

  /// The metadata of messages of a run.
  func logFacts(of run: ProcedureIdentity, attempt: Int?, parent: ProcedureID?) -> ProcedureLog.Metadata {
    var facts = ["procedure.id": "\(run.id)", "procedure.name": run.name]
    if let attempt { facts["attempt"] = "\(attempt)" }
    if self !== QueueCore.unqueued { facts["queue.name"] = name }
    if let parent { facts["parent"] = "\(parent)" }
    return facts
  }

  /// Tells of a failure that no handle can show any more.
  func logUnobserved(_ failure: ProcedureFailure) {
    log.from { [self] in logFacts(of: failure.procedure, attempt: nil, parent: nil) }
      .warning(
        "\(failure.procedure) failed, and its handle was dropped unread (await its value, or set onUnobservedFailure): "
          + "\(failure.error)")
  }

  /// Tells that nothing moves on the queue.
  func logStall() {
    log.from { [name] in ["queue.name": name] }.warning("nothing moves on the \(snapshot())")
  }
}
