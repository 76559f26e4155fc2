/// Looks for deadlocks among runs that wait for claims and for each other, when one of them begins to wait.
///
/// The snapshot is collected without stopping anybody. Therefore a deadlock counts only if a second snapshot shows the same one: each of
/// its waits was there in both, so that all were there at once in between.
enum WaitSearch {
  /// Refuses claims as long as a run waits for ever, so that the others go on. A run that waits for several others may stand in several wait
  /// cycles.
  ///
  /// The youngest claim of a wait cycle is refused: two searches that find the cycle at the same time refuse the same one.
  ///
  /// - Returns: The wait cycle, if the run's own claim is the one that is refused.
  @discardableResult
  static func resolveDeadlock(from run: Run) -> [ExclusionWait]? {
    var snapshot = Snapshot(from: run)
    var found: [WaitGraph.Link]?
    while let cycle = snapshot.graph.deadlock(from: run.id.number) {
      if cycle == found {
        guard let (refused, waits) = snapshot.refusal(in: cycle) else { return nil }
        if refused.core.resources.withdraw(refused) {
          if refused === run { return waits }
          refused.claimRefused(.exclusionDeadlock(procedure: refused.levelIdentity, waits: waits))
        }
      }
      found = cycle
      snapshot = Snapshot(from: run)
    }
    for overtaking in snapshot.graph.overtakings(for: run.id.number) {
      snapshot.runs[overtaking.run]?.core.resources.overtook(overtaking)
    }
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
      var awaited = children + dependencies.map(\.ofRun.dependencyRun)
      var oneOf: [Run] = []
      for wait in waits {
        switch wait {
        case .run(let other): awaited.append(other)
        case .idle(let queue): awaited += queue.runs(awaitedBy: run)
        case .room(let queue, let key):
          let waiting = queue.runsWaiting(for: key)
          graph.add(run.id.number, waitsForOneOf: waiting.map(\.id.number))
          oneOf += waiting
        case .conditions, .events, .rateLimit: break
        }
      }
      awaited.removeAll(where: \.isFinished)
      if !awaited.isEmpty { graph.add(run.id.number, waitsFor: awaited.map(\.id.number)) }
      guard !run.level.traits.demands.isEmpty else { return awaited + oneOf }
      return awaited + oneOf + run.core.resources.addWaits(of: run, to: &graph)
    }

    /// The run whose claim is refused, and the wait cycle from there.
    func refusal(in cycle: [WaitGraph.Link]) -> (Run, [ExclusionWait])? {
      let claims = cycle.indices.filter { cycle[$0].resource != nil }
      guard let first = claims.max(by: { cycle[$0].run < cycle[$1].run }), let run = runs[cycle[first].run] else {
        return nil
      }
      return (run, (cycle[first...] + cycle[..<first]).compactMap(wait))
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
    ancestors.contains { run in
      run.core.withState { state in
        state.awaitingBodies > 0 || run.details.map { $0.isAwaited || !$0.listeners.isEmpty } ?? false
      }
    }
  }
}

/// A dependency that is a run, so that deadlocks through it are found.
protocol RunDependency: ProcedureDependency {
  var dependencyRun: Run { get }

  /// Calls a function when the dependency has finished, unless its run forgets the dependent before.
  func whenFinished(by dependent: ProcedureID, _ notify: @escaping RunDetails.Listener)
}

extension ProcedureDependency {
  /// The dependency as the engine uses it. Traps for a type of another module.
  var ofRun: any RunDependency {
    guard let dependency = self as? any RunDependency else {
      fatalError("\(Self.self) is no dependency: depend on the handle of a procedure that waits for it")
    }
    return dependency
  }
}
