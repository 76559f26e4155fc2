extension QueueCore {
  /// The queue's log, or the shared log if the queue has no log.
  package var log: ProcedureLog { configuration.log ?? .shared }

  /// The log for messages about the queue as a whole.
  private var logOfQueue: ProcedureLog { log.from { [name] in ["queue.name": name] } }

  /// Returns the metadata for the log messages of a run.
  func logFacts(of run: ProcedureIdentity, attempt: Int?, parent: ProcedureID?) -> [String: String] {
    var facts = ["procedure.id": "\(run.id)", "procedure.name": run.name]
    if let attempt { facts["attempt"] = "\(attempt)" }
    if self !== QueueCore.unqueued { facts["queue.name"] = name }
    if let parent { facts["parent"] = "\(parent)" }
    return facts
  }

  /// Passes an unobserved failure to the queue's handler or, if there is no handler, logs it. A failure is unobserved if the run's handle
  /// was released before any code observed the outcome.
  func reportUnobserved(_ failure: ProcedureFailure) {
    if let handler = configuration.onUnobservedFailure { return handler(failure) }
    log.from { [self] in logFacts(of: failure.procedure, attempt: nil, parent: nil) }
      .log(
        level: .warning,
        "\(failure.procedure) failed, and its handle was released before any code read its outcome: \(failure.error). "
          + "Await the procedure's value, or set onUnobservedFailure.")
  }

  /// Reports a stall: passes a snapshot to the queue's handler or, if there is no handler, logs the snapshot.
  func reportStall() {
    if let handler = configuration.onStall { return handler(snapshot()) }
    logOfQueue.log(level: .warning, "the queue has stalled: \(snapshot())")
  }

  /// Warns that the grace period ended while callers' tasks were executing bodies, because the queue cannot cancel these tasks.
  func warnOfBodiesInCallersTasks(_ bodies: [ProcedureIdentity]) {
    guard !bodies.isEmpty else { return }
    let names = bodies.prefix(5).map { "\($0)" } + (bodies.count > 5 ? ["\(bodies.count - 5) more"] : [])
    logOfQueue.log(
      level: .warning,
      "the queue \(name.quoted) is waiting for bodies that `run` executes in its callers' tasks, which the queue cannot cancel: "
        + "\(names.sentenceList). Cancel these tasks, give the procedures a timeout, or add them to the queue instead.")
  }

  /// Whether runs are currently being measured.
  var isMeasured: Bool { configuration.collectsTotals || broadcaster.isObserved }
}

extension QueueCore.State {
  /// Updates the totals after a run ends or is refused.
  mutating func count(_ run: Run, _ outcome: RunOutcome, _ metrics: ProcedureMetrics?) {
    if run.kind == .node || run.kind == .bodyOnlyNode, let metrics { totals?.countNode(metrics) }
    guard run.kind == .added || run.kind == .structured else { return }
    totals?.count(outcome.withoutValue, metrics, isReused: runs[run].details.extensions.isReused)
  }
}

extension Run {
  /// Returns the metrics of a run that ends at `instant`; `nil` if the run was not measured from the start.
  func metrics(at instant: ProcedureInstant, _ state: borrowing QueueCore.State) -> ProcedureMetrics? {
    let member = state.runs[self].member
    guard var metrics = state.machine.meters?.metrics(of: member, at: instant.nanoseconds) else { return nil }
    metrics.attempts = attempts(state)
    // A node has been pending since its graph started, but its run was not admitted until the node was ready.
    if kind == .node, let parent, let graph = state.runs[parent].details.extensions.graph {
      metrics.pending += graph.timeSinceStart(to: instant, without: metrics.total)
    }
    return metrics
  }

  /// Returns the number of attempts that have started across all layers.
  func attempts(_ state: borrowing QueueCore.State) -> Int {
    let pause = state.runs[self].details.pause
    return hasStarted(state) ? pause.latestAttempt + Int(pause.innerRetryCount) : 0
  }

  /// Returns how long the body waited for its slot, in nanoseconds. The result is negative if the time is unknown.
  func slotWait(_ state: borrowing QueueCore.State) -> Int64 {
    // The wait for the slot of an enclosing body does not belong to this run.
    slotOwner === self ? state.machine.meters?.slotWait(of: state.runs[self].member) ?? -1 : -1
  }

  /// Returns the number of the slot in which the body executes; -1 if the number is unknown.
  func slotNumber(_ state: borrowing QueueCore.State) -> Int32 {
    state.machine.meters?.slot(of: state.runs[slotOwner].member) ?? -1
  }
}
