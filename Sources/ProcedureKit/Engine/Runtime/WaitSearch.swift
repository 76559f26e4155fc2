/// Looks for deadlocks among runs that wait for claims and for each other, when one of them begins to wait.
///
/// The snapshot is collected without stopping anybody. Therefore a deadlock counts only if a second snapshot shows the same one: each of
/// its waits was there in both, so that all were there at once in between.
enum WaitSearch {
  /// Refuses a claim if a run has begun to wait for ever, so that the others go on.
  ///
  /// - Returns: The wait cycle, if the run's own claim is the one that is refused.
  static func resolveDeadlock(from run: Run) -> [ExclusionWait]? {
    var snapshot = Snapshot(from: run)
    var found: [WaitGraph.Link]?
    while true {
      guard let cycle = snapshot.graph.deadlock(from: run.id.number) else {
        for overtaking in snapshot.graph.overtakings(for: run.id.number) { run.core.resources.overtook(overtaking) }
        return nil
      }
      if cycle == found { break }
      found = cycle
      snapshot = Snapshot(from: run)
    }
    guard let cycle = found else { return nil }
    let waits = cycle.compactMap(snapshot.wait)
    // The run's own claim, or else the first claim of the cycle.
    let claiming = cycle.filter { $0.resource != nil }.compactMap { snapshot.runs[$0.run] }
    guard let refused = claiming.first(where: { $0 === run }) ?? claiming.first, refused.core.resources.withdraw(refused) else {
      return nil
    }
    if refused === run { return waits }
    refused.claimRefused(waits)
    return nil
  }

  private struct Snapshot {
    var graph = WaitGraph()
    var runs: [RunNumber: Run] = [:]

    init(from start: Run) {
      var reached = [start]
      runs[start.id.number] = start
      while let run = reached.popLast() {
        for other in add(run) where runs[other.id.number] == nil {
          runs[other.id.number] = other
          reached.append(other)
        }
      }
    }

    /// Adds what a run waits for, and returns the runs it waits for.
    private mutating func add(_ run: Run) -> [Run] {
      var (waits, dependencies, queues) = run.core.withState { _ -> ([Run], [any ProcedureDependency], [QueueCore]) in
        guard run.outcome == nil, let details = run.details else { return ([], [], []) }
        let awaited = details.waits.values.compactMap { if case .run(let run) = $0 { run } else { nil } }
        let queues = details.waits.values.compactMap { if case .idle(let core) = $0 { core } else { nil } }
        return (awaited + details.children.values, details.dependencies, queues)
      }
      for queue in queues { waits += queue.runs().filter { $0.isReported && !$0.waitsForIdleness(of: queue) } }
      dependencies.removeAll { ($0 as? any RunDependency)?.dependencyRun.isFinished ?? false }
      let awaited = (waits + dependencies.compactMap { ($0 as? any RunDependency)?.dependencyRun }).filter { !$0.isFinished }
      if !awaited.isEmpty { graph.add(run.id.number, waitsFor: awaited.map(\.id.number)) }
      guard !run.level.traits.demands.isEmpty else { return awaited }
      return awaited + run.core.resources.addWaits(of: run, to: &graph)
    }

    func wait(for link: WaitGraph.Link) -> ExclusionWait? {
      guard let resource = link.resource, let run = runs[link.run], let blocker = runs[link.blocker],
        let key = run.core.resources.key(of: resource)
      else { return nil }
      return ExclusionWait(procedure: run.levelIdentity, key: key, holder: blocker.levelIdentity)
    }
  }
}

extension Run {
  /// Whether the body waits for its own queue to be idle, and so does not keep it from being idle.
  func waitsForIdleness(of queue: QueueCore) -> Bool {
    core.withState { _ in
      details?.waits.values.contains { if case .idle(let other) = $0 { other === queue } else { false } } ?? false
    }
  }

  /// Whether another procedure may wait for this run: its parent, a dependent, or a body.
  var mayBeAwaited: Bool {
    parent != nil || core.withState { state in state.idleBodies > 0 || details.map { $0.isAwaited || !$0.listeners.isEmpty } ?? false }
  }
}
