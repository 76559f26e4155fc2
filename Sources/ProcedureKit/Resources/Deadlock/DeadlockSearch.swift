/// Looks for deadlocks among runs that wait for claims and for each other, when one of them begins to wait (R4).
///
/// The snapshot is collected without stopping any run. Therefore a deadlock counts only if a second snapshot shows the same one: each of
/// its waits was there in both, so that all were there at once in between.
enum DeadlockSearch {
  /// Ends waits as long as a run is in a deadlock, so that the others continue. A run that waits for several others may stand in several wait
  /// cycles.
  ///
  /// A claim of the wait cycle is refused; in a cycle without claims, a wait that can throw; otherwise, a run that waits fails. Of several, the
  /// youngest run is chosen: two searches that find the cycle at the same time choose the same one.
  ///
  /// - Returns: The wait cycle, if the run's own claim is the one that is refused.
  @discardableResult
  static func resolveDeadlock(from run: Run) -> [ExclusionWait]? {
    var snapshot = Snapshot(from: run)
    var found: [WaitForGraph.Link]?
    while let cycle = snapshot.graph.deadlock(from: run.id.number) {
      if cycle == found {
        guard let refusal = snapshot.refusal(in: cycle) else { return nil }
        let error = ProcedureError.exclusionDeadlock(procedure: refusal.run.layerIdentity, waits: refusal.waits)
        if let wait = refusal.wait {
          refusal.run.refuseWait(wait, error)
        } else if refusal.run.core.resources.withdraw(refusal.run) {
          if refusal.run === run { return refusal.waits }
          refusal.run.claimRefused(error)
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

  private struct Edge: Hashable {
    let run: RunNumber
    let blocker: RunNumber
  }

  private struct Refusal {
    let run: Run
    /// The wait of the body that is refused; `nil` for a claim.
    let wait: ObjectIdentifier?
    /// The wait cycle, from the refused wait.
    let waits: [ExclusionWait]
  }

  private struct Snapshot {
    var graph = WaitForGraph()
    var runs: [RunNumber: Run] = [:]
    /// The waits of bodies, by who waits for whom.
    private var bodyWaits: [Edge: (key: ObjectIdentifier, wait: RunWait)] = [:]

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
      let number = run.id.number
      let (waits, children, dependencies, mayClaim) = run.core.read {
        state -> ([(ObjectIdentifier, RunWait)], [Run], [any ProcedureDependency], Bool) in
        let mayClaim = run.mayClaim(state.runs)
        if run.outcome != nil { return ([], [], [], mayClaim) }
        return (
          state.runs[run].details.waits.map { ($0.key, $0.value.wait) },
          Array(state.runs[run].details.children.byID.values), state.runs[run].details.dependencies.handles, mayClaim
        )
      }
      // A dependency that has finished is known to the run, or will be at once.
      var awaited = children + dependencies.map(\.asRunDependency.dependencyRun)
      var oneOf: [Run] = []
      for (key, wait) in waits {
        let others: [Run]
        switch wait {
        case .run(let other), .eventsOfRun(let other): others = [other]
        case .execution(let table, let key, let follower): others = table.leader(key, of: follower).map { [$0] } ?? []
        case .idle(let queue): others = queue.runs(awaitedBy: run)
        case .room(let queue, let key):
          others = queue.runsWaiting(for: key)
          graph.add(number, waitsForOneOf: others.map(\.id.number))
          oneOf += others
        case .conditions, .events, .rateLimit: continue
        }
        for other in others { bodyWaits[Edge(run: number, blocker: other.id.number)] = (key, wait) }
        if case .room = wait { continue }
        awaited += others
      }
      awaited.removeAll(where: \.isFinished)
      if !awaited.isEmpty { graph.add(number, waitsFor: awaited.map(\.id.number)) }
      guard mayClaim else { return awaited + oneOf }
      return awaited + oneOf + run.core.resources.addWaits(of: run, to: &graph)
    }

    /// The wait that is refused, and the wait cycle from there; `nil` if the cycle has dissolved.
    func refusal(in cycle: [WaitForGraph.Link]) -> Refusal? {
      func strength(of link: WaitForGraph.Link) -> Int {
        if link.resource != nil { return 2 }
        return bodyWaits[Edge(run: link.run, blocker: link.blocker)].map { $0.wait.canThrow ? 1 : 0 } ?? -1
      }
      guard let rank = cycle.map(strength).max(), rank >= 0,
        let first = cycle.indices.filter({ strength(of: cycle[$0]) == rank }).max(by: { cycle[$0].run < cycle[$1].run }
        ),
        let run = runs[cycle[first].run]
      else { return nil }
      let wait =
        cycle[first].resource == nil ? bodyWaits[Edge(run: cycle[first].run, blocker: cycle[first].blocker)] : nil
      return Refusal(run: run, wait: wait?.key, waits: (cycle[first...] + cycle[..<first]).compactMap(self.wait))
    }

    /// The wait of a link, as users read it; `nil` for a run that awaits one of its own parts.
    func wait(for link: WaitForGraph.Link) -> ExclusionWait? {
      guard let run = runs[link.run], let blocker = runs[link.blocker] else { return nil }
      guard let resource = link.resource else {
        if case .execution(_, let key, _)? = bodyWaits[Edge(run: link.run, blocker: link.blocker)]?.wait {
          return ExclusionWait(procedure: run.layerIdentity, key: key, holder: blocker.layerIdentity)
        }
        if blocker.ancestors.contains(where: { $0 === run }) { return nil }
        return ExclusionWait(procedure: run.layerIdentity, finishOf: blocker.layerIdentity)
      }
      guard let key = run.core.resources.key(of: resource) else { return nil }
      return ExclusionWait(procedure: run.layerIdentity, key: key, holder: blocker.layerIdentity)
    }
  }
}

extension Run {
  /// Whether another procedure may wait for this run: its parent, a dependent, or a body.
  var mayBeAwaited: Bool {
    ancestors.contains { run in
      run.core.read { state in
        if state.awaitingBodies > 0 { return true }
        return state.runs[run].details.observers.isAwaited || !state.runs[run].details.observers.listeners.isEmpty
      }
    }
  }

  /// Whether the run may have a claim: for its own layer, or after a pause for layers around it.
  func mayClaim(_ runs: borrowing RunTable) -> Bool {
    !layer.traits.demands.isEmpty || runs[self].details.claim.hasReclaimed
  }

  /// Another procedure waits for this run from now on.
  func setAwaited() { core.update { $0[self].details.observers.isAwaited = true } }

  /// Looks for a deadlock since the body has begun to wait, and ends waits of the deadlock.
  ///
  /// A cycle leads back to the body: another procedure waits for the body, or for what the body holds. The other procedure has made that
  /// visible before it has registered its own wait, so that the last one to register a wait looks.
  func searchForDeadlock() {
    guard mayBeAwaited || ancestors.contains(where: { !$0.layer.traits.demands.isEmpty }) else { return }
    DeadlockSearch.resolveDeadlock(from: self)
  }

  /// Returns the error of a run that would wait for one of its own ancestors; `nil` if `ancestor` is none.
  func deadlock(
    within ancestor: Run, _ wait: (_ procedure: ProcedureIdentity, _ holder: ProcedureIdentity) -> ExclusionWait
  ) -> ProcedureError? {
    guard ancestors.contains(where: { $0 === ancestor }) else { return nil }
    // From the inside to the outside; layers of one procedure are one.
    var path: [ProcedureIdentity] = []
    for run in ancestors {
      if path.last != run.layerIdentity { path.append(run.layerIdentity) }
      if run === ancestor { break }
    }
    let inward = zip(path.dropFirst().reversed(), path.dropLast().reversed())
    return .exclusionDeadlock(
      procedure: layerIdentity,
      waits: [wait(path[0], path[path.count - 1])] + inward.map { ExclusionWait(procedure: $0, finishOf: $1) })
  }

  /// Fails the run if its body waits for an event of the run itself, in the task of the body, with no child that could cause one.
  func failIfStuckInOwnEvents(_ part: Run) {
    let isStuck = core.read { state in
      state.runs[self].details.children.producedCount == 0 && state.runs[self].worker?.isCurrent ?? false
    }
    guard isStuck, let error = part.deadlock(within: self, ExclusionWait.init(procedure:finishOf:)) else { return }
    cancel(ProcedureError.exclusionDeadlock(procedure: layerIdentity, waits: error.waits))
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
  var asRunDependency: any RunDependency {
    guard let dependency = self as? any RunDependency else {
      fatalError("\(Self.self) cannot be a dependency. Depend on the handle of a procedure that waits for it.")
    }
    return dependency
  }
}
