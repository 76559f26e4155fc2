/// The deadlock search, which begins when a run starts to wait (R4). The runs in a deadlock can be waiting for claims and for each other.
///
/// The search takes a snapshot of the waits while runs continue. Therefore, a deadlock is real only if a second snapshot contains the
/// same cycle. In that case, each wait in the cycle lasted from the first snapshot to the second, so all of the waits existed
/// simultaneously.
enum DeadlockSearch {
  /// Refuses waits until `run` is no longer in a deadlock, so that the runs in the deadlock can continue.
  ///
  /// A run that is waiting for several runs can be in several cycles.
  ///
  /// In each cycle, the search refuses a claim or, if the cycle contains no claim, a wait that can throw. If the cycle contains neither, a
  /// waiting run fails. In a cycle of dependencies, a dependent fails. Among several candidates, the search chooses the youngest run, so
  /// two simultaneous searches that find the same cycle choose the same run.
  ///
  /// - Returns: The wait cycle if a claim of `run` was refused, in which case the caller reports the refusal; otherwise `nil`.
  @discardableResult
  static func resolveDeadlock(from run: Run) -> [ExclusionWait]? {
    var snapshot = Snapshot(from: run)
    var found: [WaitForGraph.Link]?
    while let cycle = snapshot.graph.deadlock(from: run.id.number) {
      // The second snapshot contains the same cycle, so the deadlock is real.
      if cycle == found {
        guard let refusal = snapshot.refusal(in: cycle) else { return nil }
        let error = ProcedureError.exclusionDeadlock(procedure: refusal.run.layerIdentity, waits: refusal.waits)
        if let wait = refusal.wait {
          refusal.run.refuseWait(wait, error)
        } else if refusal.isDependency {
          refusal.run.refuseDependencies(error)
        } else if refusal.run.core.resources.withdraw(refusal.run) {
          if refusal.run === run { return refusal.waits }
          refusal.run.claimRefused(error)
        }
      }
      found = cycle
      snapshot = Snapshot(from: run)
    }
    // No deadlock is left, but the order of a line may still be blocking the run. If so, each run that a blocked run is waiting for
    // overtakes the runs ahead of it.
    for overtaking in snapshot.graph.overtakings(for: run.id.number) {
      snapshot.runs[overtaking.run]?.core.resources.overtook(overtaking)
    }
    return nil
  }

  private struct Refusal {
    let run: Run
    /// The refused wait, if it is a wait in a body. The value is `nil` if a claim or a wait for a dependency is refused.
    let wait: ObjectIdentifier?
    let isDependency: Bool
    /// The wait cycle, beginning with the refused wait.
    let waits: [ExclusionWait]
  }

  private struct Snapshot {
    var graph = WaitForGraph()
    var runs: [RunNumber: Run] = [:]
    /// The waits in bodies, keyed by their links in the graph.
    private var bodyWaits: [WaitForGraph.Link: (key: ObjectIdentifier, wait: RunWait)] = [:]
    /// The waits of runs that have not started and are waiting for their dependencies.
    private var dependencyWaits: Set<WaitForGraph.Link> = []

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

    /// Adds the waits of a run to the graph and returns the runs that it waits for.
    private mutating func add(_ run: Run) -> [Run] {
      let number = run.id.number
      let (waits, children, inHooks, dependencies, mayClaim) = run.core.read {
        state -> ([(ObjectIdentifier, RunWait)], [Run], [Run], [any ProcedureDependency], Bool) in
        let children = state.runs[run].details.children
        return (
          state.runs[run].details.waits.map { ($0.key, $0.value.wait) },
          Array(children.byID.values), Array(children.awaitedInHooks.values),
          state.runs[run].details.dependencies.handles, run.mayClaim(state.runs)
        )
      }
      // A finished dependency is removed below, because its outcome has reached the run or is about to reach it.
      let dependencyRuns = dependencies.map(\.asRunDependency.dependencyRun)
      for other in dependencyRuns { dependencyWaits.insert(.init(run: number, blocker: other.id.number)) }
      var awaited = children + dependencyRuns
      // These runs are awaited until their last hooks end, even after their outcomes are published.
      var awaitedToTheEnd = inHooks
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
        case .events, .rateLimit, .pause: continue
        }
        for other in others { bodyWaits[.init(run: number, blocker: other.id.number)] = (key, wait) }
        switch wait {
        case .room: continue
        case .idle: awaitedToTheEnd += others
        default: awaited += others
        }
      }
      awaited.removeAll(where: \.isFinished)
      awaited += awaitedToTheEnd
      if !awaited.isEmpty { graph.add(number, waitsFor: awaited.map(\.id.number)) }
      guard mayClaim else { return awaited + oneOf }
      return awaited + oneOf + run.core.resources.addWaits(of: run, to: &graph)
    }

    /// Returns the wait to refuse (R4), and the cycle starting with that wait; `nil` if none of the waits in the cycle can be refused.
    func refusal(in cycle: [WaitForGraph.Link]) -> Refusal? {
      // Claims are refused first, then waits in bodies that can throw, then other waits in bodies, and finally dependencies. A negative
      // value means that the wait cannot be refused, because a run is waiting for its children.
      func strength(of link: WaitForGraph.Link) -> Int {
        if link.resource != nil { return 3 }
        if let wait = bodyWaits[link] { return wait.wait.canThrow ? 2 : 1 }
        return dependencyWaits.contains(link) ? 0 : -1
      }
      guard let rank = cycle.map(strength).max(), rank >= 0,
        let first = cycle.indices.filter({ strength(of: cycle[$0]) == rank }).max(by: { cycle[$0].run < cycle[$1].run }
        ),
        let run = runs[cycle[first].run]
      else { return nil }
      return Refusal(
        run: run, wait: bodyWaits[cycle[first]]?.key, isDependency: rank == 0,
        waits: (cycle[first...] + cycle[..<first]).compactMap(self.wait))
    }

    /// Returns the wait that a link represents, for the error message; `nil` if a run is waiting for one of its nested runs.
    func wait(for link: WaitForGraph.Link) -> ExclusionWait? {
      guard let run = runs[link.run], let blocker = runs[link.blocker] else { return nil }
      guard let resource = link.resource else {
        if case .execution(_, let key, _)? = bodyWaits[link]?.wait {
          return ExclusionWait(procedure: run.layerIdentity, key: key, holder: blocker.layerIdentity)
        }
        if blocker !== run, blocker.ancestors.contains(where: { $0 === run }) { return nil }
        return ExclusionWait(procedure: run.layerIdentity, finishOf: blocker.layerIdentity)
      }
      guard let key = run.core.resources.key(of: resource) else { return nil }
      return ExclusionWait(procedure: run.layerIdentity, key: key, holder: blocker.layerIdentity)
    }
  }
}

extension Run {
  /// Whether another procedure may be waiting for this run, for an enclosing run, or for the queue of one of them.
  var mayBeAwaited: Bool {
    ancestors.contains { run in
      run.core.read { state in
        if state.awaitingBodies > 0 { return true }
        return state.runs[run].details.observers.isAwaited || !state.runs[run].details.observers.listeners.isEmpty
      }
    }
  }

  /// Records that another procedure is waiting for this run.
  func setAwaited() { core.update { $0[self].details.observers.isAwaited = true } }

  /// Searches for a deadlock after the body starts to wait, and refuses waits to resolve it (R4).
  ///
  /// The body can be in a cycle only if another procedure is waiting for the body or for a resource that the body holds. If neither is
  /// possible, no search is needed. A procedure marks the body as awaited before it registers its wait for the body. Therefore, whichever
  /// procedure in a cycle registers its wait last finds the cycle.
  func searchForDeadlock() {
    guard mayBeAwaited || ancestors.contains(where: { !$0.layer.traits.demands.isEmpty }) else { return }
    DeadlockSearch.resolveDeadlock(from: self)
  }

  /// Returns the error for a run that would wait for its own ancestor (R4); `nil` if `ancestor` is not an ancestor of this run.
  func deadlock(
    within ancestor: Run, _ wait: (_ procedure: ProcedureIdentity, _ holder: ProcedureIdentity) -> ExclusionWait
  ) -> ProcedureError? {
    guard ancestors.contains(where: { $0 === ancestor }) else { return nil }
    // The procedures from this run outwards. A procedure with several layers is listed only once.
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

  /// Fails the run if its body's task is waiting for an event from the run itself and no child can cause that event (R4).
  func failIfAwaitingOwnEvents(_ waiting: Run) {
    let isStuck = core.read { state in
      state.runs[self].details.children.producedCount == 0 && state.worker(of: self)?.isCurrent ?? false
    }
    guard isStuck, let error = waiting.deadlock(within: self, ExclusionWait.init(procedure:finishOf:)) else { return }
    cancel(ProcedureError.exclusionDeadlock(procedure: layerIdentity, waits: error.waits), asFailure: true)
  }
}

/// A dependency whose run is known, so a deadlock search can continue with that run.
protocol RunDependency: ProcedureDependency {
  var dependencyRun: Run { get }

  /// Whether the dependency counts as successful even if the run fails.
  var neverFails: Bool { get }
}

extension ProcedureDependency {
  /// The dependency in the form that the scheduler uses. Traps if the conforming type is declared in another module.
  var asRunDependency: any RunDependency {
    guard let dependency = self as? any RunDependency else {
      fatalError(
        "\(Self.self) cannot be a dependency. Instead, add a procedure that waits for the \(Self.self), and depend on its handle."
      )
    }
    return dependency
  }
}
