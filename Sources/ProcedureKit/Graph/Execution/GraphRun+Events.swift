import Synchronization

extension GraphRun {
  // MARK: Events

  /// Publishes `didAttach` for each node (L2, L6).
  func announceNodes() {
    guard isObservedFromStart else { return }
    state.withLock { $0.observed = Set(0..<Int32(plan.traits.count)) }
    let dependencies = plan.shape.dependencies()
    for node in plan.traits.indices {
      let dependencies = dependencies[node].map { identity(of: $0).id }
      report(
        .init(step: .didAttach, dependencies: dependencies, collection: plan.collection), of: Int32(node), at: start)
    }
  }

  /// Publishes an event for a node if the queue has a subscriber.
  func report(
    _ content: @autoclosure () -> ProcedureEvent.Content, of node: Int32, attempt: Int = 0,
    at instant: ProcedureInstant? = nil
  ) {
    guard broadcaster.isObserved else { return }
    let identity = identity(of: node)
    var effects: [EventEffect] = []
    let subject = ProcedureEvent.Subject(
      id: identity.id, name: identity.name, attempt: attempt, parent: run.identity.id, isNode: true)
    let event = ProcedureEvent(of: subject, at: instant ?? run.core.time.now, content())
    broadcaster.send(event, &effects)
    for effect in effects { effect.perform() }
  }

  var cancelledOutcome: ProcedureOutcome<Void> { .cancelled(reason: run.inheritedReason) }

  /// Publishes the final events for a node that has no separate run or that never executed.
  func reportEnd(
    of node: Int32, _ outcome: @autoclosure () -> ProcedureOutcome<Void>, _ nodeRun: Run? = nil, hasExecuted: Bool
  ) {
    guard isObservedFromStart || broadcaster.isObserved else { return }
    let begin = state.withLock { state in
      state.observed.remove(node)
      return state.starts.removeValue(forKey: node)
    }
    // A node that has modifiers is a run, which has already published its final events.
    guard !hasExecuted || executesWithoutRun(node) else { return }
    let (outcome, attempt, end) = (outcome(), hasExecuted ? 1 : 0, run.core.time.now)
    func report(_ content: @autoclosure () -> ProcedureEvent.Content) {
      self.report(content(), of: node, attempt: attempt, at: end)
    }
    if case .cancelled(let reason) = outcome { report(.init(step: .didCancel(reason: reason))) }
    if hasExecuted { report(.init(step: .didExecute(attempt: 1), slot: begin?.slot ?? -1)) }
    report(.init(step: .willFinish(outcome)))
    report(.init(step: .didFinish(outcome), metrics: metrics(from: begin?.instant, to: end, attempt, nodeRun)))
  }

  /// Publishes the final events for nodes that never started because the graph failed or was cancelled.
  func finishUnstartedNodes() {
    let unstarted = state.withLock { $0.observed }
    for node in unstarted.sorted() { reportEnd(of: node, cancelledOutcome, hasExecuted: false) }
  }

  /// Returns the metrics of a node without modifiers. All of the time before the node started counts as pending.
  ///
  /// `run` is the run that was created for the node, if any. The result is `nil` if the node was not measured from the beginning.
  func metrics(
    from begin: ProcedureInstant?, to end: ProcedureInstant, _ attempts: Int, _ run: Run?
  ) -> ProcedureMetrics? {
    guard isObservedFromStart, begin != nil || attempts == 0 else { return nil }
    let begin = begin ?? end
    guard var metrics = run?.metrics else {
      return ProcedureMetrics(
        pending: start.duration(to: begin), executing: begin.duration(to: end), attempts: attempts)
    }
    // The run was created while the body was already executing.
    metrics.pending += start.duration(to: begin)
    metrics.executing += max(start.duration(to: end) - metrics.total, .zero)
    return metrics
  }

  /// Returns how long a node waited before its run was admitted; zero if the start of the wait is unknown. The run ended at `end` and took
  /// `time`.
  func timeSinceStart(to end: ProcedureInstant, without time: Duration) -> Duration {
    start.nanoseconds < 0 ? .zero : max(start.duration(to: end) - time, .zero)
  }

  /// The node that represents the graph in the progress tree. The first access creates this node and the nodes of the enclosing runs.
  var progressNode: ProgressNode { progressNode(in: run.progressNode) }

  /// Returns the node that represents the graph in the progress tree, creating it within the node of the enclosing run if necessary.
  func progressNode(in around: ProgressNode) -> ProgressNode {
    let (part, isNew) = around.graph(firstID) {
      let total = plan.traits.reduce(0) { $0 + Double($1.weight) }
      return ProgressNode(
        firstID, in: around, ProgressState(total: total), nodeCount: plan.traits.count, time: run.core.time)
    }
    guard isNew else { return part }
    // From here on, each node is counted when it ends. Nodes that have already ended are counted below. Counting a node twice has no
    // effect.
    values.countEnds()
    for node in plan.traits.indices where values.hasEnded(Int32(node)) { countEnd(of: Int32(node), in: part) }
    return part
  }

  /// Updates the progress of the graph after an unfinished node reports progress.
  func nodeReported(_ id: ProcedureID) {
    let node = Int(id.number - firstID.number)
    progressNode.nodeReported(node, id, weight: Double(plan.traits[node].weight))
  }

  /// Updates the progress of the graph after a node ends.
  func countEnd(of node: Int32) { countEnd(of: node, in: progressNode) }

  private func countEnd(of node: Int32, in part: ProgressNode) {
    part.nodeEnded(Int(node), firstID.advanced(by: Int(node)), weight: Double(plan.traits[Int(node)].weight))
  }
}
