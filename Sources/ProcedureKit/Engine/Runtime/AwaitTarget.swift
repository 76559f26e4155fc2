/// Internal. What a body waits for, as far as it can close a circle with what somebody holds.
enum AwaitTarget {
  case run(DetachedRun)
  case queue(QueueCore, ResourceLedger.QueueWait)
  /// What a part of a body has produced; what an added run has is found by the run.
  case children(ChildGroup)
}

/// Internal. What bodies wait for.
///
/// A body that holds something tells the ledger of what it waits for before it does: the runs and queues, what these depend
/// on, and what the bodies of these wait for at that moment. A body that begins to wait while somebody waits for it adds to
/// that. Where nobody holds anything this is one look at a list of the run's own.
extension ProcedureContext {
  /// Calls `operation`, which waits for something inside of this body.
  ///
  /// - Parameters:
  ///   - target: What it waits for.
  ///   - idlers: Where that is its own queue, the runs there that it is part of.
  ///   - operation: Waits.
  /// - Returns: What `operation` returns.
  func awaiting<R>(_ target: AwaitTarget, idlers: [Run] = [], _ operation: () async -> R) async -> R {
    let number = ProcedureID.reserve().number
    var waiters = waitingRuns
    for run in idlers where !waiters.contains(where: { $0 === run }) { waiters.append(run) }
    for run in waiters { run.core.withState { _ in run.awaited[number] = target } }
    defer {
      for run in waiters {
        let forgotten = run.core.withState { _ in run.awaited.removeValue(forKey: number) }
        _ = forgotten
      }
    }
    let isHolding = hold != nil || !idlers.isEmpty
    if isHolding { ResourceBook.shared.awaitStarted(number, inside: hold, idlers: idlers.map(\.id.number)) }
    defer { if isHolding { ResourceBook.shared.awaitEnded(number) } }
    if isHolding { target.reach(from: .await(number), in: scope.resourceTable) }
    // Also where it holds something itself: others that wait for it may hold something else.
    if !waiters.isEmpty, ResourceBook.shared.hasAwaits { target.reach(from: .runs(claimRuns), in: scope.resourceTable) }
    return await operation()
  }

  /// Calls `operation`, which waits for what this body has produced.
  func awaiting(_ children: ChildGroup, _ operation: () async -> Void) async {
    if scope is DetachedRun { return await operation() }
    await awaiting(.children(children), operation)
  }

  /// The runs that others can find to wait for what this body does: up to the first that was added or produced.
  private var waitingRuns: [Run] {
    var runs: [Run] = []
    for scope in sequence(first: self, next: \.scope.parent).lazy.map(\.scope) {
      guard let run = scope as? Run else { continue }
      runs.append(run)
      if run.detachedRun != nil { break }
    }
    return runs
  }
}

extension DetachedRun {
  /// Others that wait for its queue wait for what it depends on.
  func tellAwaits() {
    AwaitTarget.run(self).reach(from: .runs(claimRuns()), in: core.resources)
  }
}

extension AwaitTarget {
  /// Looks again once what was found is known to be waited for: what begins to wait or claims before that does not tell,
  /// and is found then.
  fileprivate func reach(from source: ResourceLedger.AwaitSource, in table: ResourceTable) {
    var known: Set<UInt64> = []
    while true {
      var reached = Reached()
      reached.visit(self)
      while let run = reached.next() {
        let (targets, children) = run.core.withState { _ in (Array(run.awaited.values), run.children) }
        for target in targets { reached.visit(target) }
        if let children { reached.visit(children) }
        guard let run = run.detachedRun else { continue }
        let dependencies = run.core.withState { _ in run.dependencyHandles }
        for dependency in dependencies {
          if let run = (dependency as? any RunDependency)?.dependencyRun { reached.visit(.run(run)) }
        }
      }
      let claims = known.isEmpty ? [] : reached.claiming.compactMap { run in run.core.withState { _ in run.claim } }
      ResourceTable.deliver(ResourceBook.shared.awaitReached(reached.targets, from: source, claims: claims))
      if reached.targets.isSubset(of: known) { return }
      known.formUnion(reached.targets)
    }
  }
}

/// Internal. All that has to end before something does, as far as is known at this moment.
private struct Reached {
  /// What is waited for, by numbers.
  private(set) var targets: Set<UInt64> = []
  private(set) var runs: [Run] = []
  /// Runs of which one is enough.
  private var alternatives: [Run] = []
  private var seen: Set<ProcedureID> = []
  private var visited = 0

  mutating func visit(_ target: AwaitTarget) {
    switch target {
    case .run(let run):
      guard !run.isFinished, seen.insert(run.id).inserted else { return }
      targets.insert(run.id.number)
      runs.append(run)
    case .queue(let core, let wait):
      guard targets.insert(ResourceLedger.target(core.number, wait)).inserted else { return }
      if wait == .room {
        alternatives += core.runs(for: wait)
        return
      }
      for run in core.runs(for: wait) { visit(run) }
    case .children(let children): visit(children)
    }
  }

  mutating func visit(_ children: ChildGroup) {
    for child in children.unfinishedChildren {
      if let run = child as? Run { visit(run) }
    }
  }

  /// A run that is found by what it is part of, whose number claims know.
  mutating func visit(_ run: Run) {
    if seen.insert(run.id).inserted { runs.append(run) }
  }

  /// All whose claims may concern somebody now.
  var claiming: [Run] { runs + alternatives }

  mutating func next() -> Run? {
    guard visited < runs.count else { return nil }
    visited += 1
    return runs[visited - 1]
  }
}

extension QueueCore {
  /// The runs that a wait for the queue waits for at this moment.
  fileprivate func runs(for wait: ResourceLedger.QueueWait) -> [Run] {
    withState { state in
      state.machine.runIndices.compactMap { member in
        guard let run = state.holders[Int(member)] as? Run else { return nil }
        switch wait {
        case .emptiness: return run
        case .idleness: return state.machine.idleWaits(of: member) == 0 && !run.waitsForIdleness(of: self) ? run : nil
        case .room: return state.machine.members[Int(member)].countsAsWaiting ? run : nil
        }
      }
    }
  }
}

extension Run {
  /// Called under the lock.
  fileprivate func waitsForIdleness(of core: QueueCore) -> Bool {
    awaited.values.contains { target in
      guard case .queue(let other, .idleness) = target else { return false }
      return other === core
    }
  }
}

/// Internal. A dependency whose run is known.
protocol RunDependency: ProcedureDependency {
  var dependencyRun: DetachedRun { get }
}
