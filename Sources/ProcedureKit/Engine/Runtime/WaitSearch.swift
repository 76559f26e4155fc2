/// Looks for deadlocks among runs that wait for claims and for each other, when one of them begins to wait.
///
/// The snapshot is collected without stopping anybody. Therefore a deadlock counts only if a second snapshot shows the same one: each of
/// its waits was there in both, so that all were there at once in between.
enum WaitSearch {
  /// Refuses a claim if a run has begun to wait for ever, so that the others go on.
  ///
  /// The youngest claim of the wait cycle is refused: two searches that find the cycle at the same time refuse the same one.
  ///
  /// - Returns: The wait cycle, if the run's own claim is the one that is refused.
  @discardableResult
  static func resolveDeadlock(from run: Run) -> [ExclusionWait]? {
    var snapshot = Snapshot(from: run)
    var found: [WaitGraph.Link]?
    while true {
      guard let cycle = snapshot.graph.deadlock(from: run.id.number) else {
        for overtaking in snapshot.graph.overtakings(for: run.id.number) {
          snapshot.runs[overtaking.run]?.core.resources.overtook(overtaking)
        }
        return nil
      }
      if cycle == found { break }
      found = cycle
      snapshot = Snapshot(from: run)
    }
    guard let cycle = found,
      let first = cycle.indices.filter({ cycle[$0].resource != nil }).max(by: { cycle[$0].run < cycle[$1].run }),
      let refused = snapshot.runs[cycle[first].run]
    else { return nil }
    let waits = (cycle[first...] + cycle[..<first]).compactMap(snapshot.wait)
    guard refused.core.resources.withdraw(refused) else { return nil }
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
      let (waits, children, dependencies) = run.core.withState { _ -> ([RunWait], [Run], [any ProcedureDependency]) in
        guard run.outcome == nil, let details = run.details else { return ([], [], []) }
        return (Array(details.waits.values), Array(details.children.values), details.dependencies)
      }
      // A dependency that has finished is known to the run, or will be at once.
      var awaited = children + dependencies.compactMap { ($0 as? any RunDependency)?.dependencyRun }
      var oneOf: [Run] = []
      for wait in waits {
        switch wait {
        case .run(let other): awaited.append(other)
        case .idle(let queue): awaited += queue.runs(awaitedBy: run)
        case .room(let queue):
          let waiting = queue.runsWaiting
          graph.add(run.id.number, waitsForOneOf: waiting.map(\.id.number))
          oneOf += waiting
        case .conditions: break
        }
      }
      awaited.removeAll(where: \.isFinished)
      if !awaited.isEmpty { graph.add(run.id.number, waitsFor: awaited.map(\.id.number)) }
      guard !run.level.traits.demands.isEmpty else { return awaited + oneOf }
      return awaited + oneOf + run.core.resources.addWaits(of: run, to: &graph)
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
  /// Whether another procedure may wait for this run: its parent, a dependent, or a body.
  var mayBeAwaited: Bool {
    parent != nil
      || core.withState { state in state.awaitingBodies > 0 || details.map { $0.isAwaited || !$0.listeners.isEmpty } ?? false }
  }
}
