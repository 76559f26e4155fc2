extension QueueCore {
  /// Whether runs are measured at this moment.
  var isMeasured: Bool { collectsTotals || broadcaster.isObserved }
}

extension QueueCore.State {
  /// Begins or ends measuring, and tells the machine the instant of the next event. Called under the lock.
  mutating func measure(at instant: ProcedureInstant?) {
    guard let instant else {
      machine.meters = nil
      return
    }
    machine.now = instant.nanoseconds
    if machine.meters == nil { machine.meters = RunMeters() }
  }

  /// Counts a run that has ended, or was refused.
  mutating func count(_ run: Run, _ outcome: Run.Outcome, _ metrics: ProcedureMetrics?) {
    if run.kind == .node || run.kind == .bareNode, let metrics { totals?.countNode(metrics) }
    guard run.kind == .added || run.kind == .structured else { return }
    totals?.count(outcome.withoutValue, metrics, isReused: run.details?.isReused ?? false)
  }
}

extension Run {
  /// The metrics of the run at its end; `nil` if the run was not measured from its beginning. Called under the lock.
  func metrics(at instant: ProcedureInstant, _ state: QueueCore.State) -> ProcedureMetrics? {
    guard var metrics = state.machine.meters?.metrics(of: member, at: instant.nanoseconds) else { return nil }
    metrics.attempts = hasStarted ? (details?.latestAttempt ?? 1) + (details?.innerRetryCount ?? 0) : 0
    // A node has waited for other nodes since its graph began.
    if kind == .node, let graph = parent?.details?.graph {
      metrics.pending += graph.timeSinceStart(to: instant, without: metrics.total)
    }
    return metrics
  }

  /// How long the body has stood in line for its slot, in nanoseconds; negative if that is not known. Called under the lock.
  func slotWait(_ state: QueueCore.State) -> Int64 {
    // The slot of another run was taken for something else.
    slotOwner === self ? state.machine.meters?.slotWait(of: member) ?? -1 : -1
  }

  /// The number of the slot in which the body executes; -1 if that is not known. Called under the lock.
  func slotNumber(_ state: QueueCore.State) -> Int32 { state.machine.meters?.slot(of: slotOwner.member) ?? -1 }
}
