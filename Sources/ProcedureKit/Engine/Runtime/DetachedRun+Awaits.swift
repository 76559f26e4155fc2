/// Internal. What bodies wait for, as far as it can close a circle with what they hold.
///
/// A body that holds something tells the table of what it waits for before it does: the runs, what these depend on, and
/// what the bodies of these wait for at that moment. A body that begins to wait while somebody waits for it adds to that.
/// Where nobody holds anything this is one look at a list of the run's own.
extension DetachedRun {
  /// Calls `operation`, which waits for this run inside of a body.
  func awaited<R>(in context: ProcedureContext, _ operation: () async -> R) async -> R {
    let waiter = context.innermostRun
    waiter?.noteAwait(of: self)
    defer { waiter?.forgetAwait(of: self) }
    let number = ProcedureID.reserve().number
    let tables = context.tablesOfHolds
    for (table, hold) in tables { table.awaitStarted(number, inside: hold) }
    defer { for (table, _) in tables { table.awaitEnded(number) } }
    if !tables.isEmpty { reach(from: .await(number), tables.map(\.table)) }
    // Also where it holds something itself: others that wait for it may hold something else.
    if waiter != nil, context.scope.resourceTable.hasAwaits {
      reach(from: .runs(context.claimRuns), [context.scope.resourceTable])
    }
    return await operation()
  }

  /// Looks again once the runs that were found are known to be waited for: what begins to wait or claims before that does
  /// not tell, and is found then.
  private func reach(from source: ResourceLedger.AwaitSource, _ tables: [ResourceTable]) {
    var known: Set<UInt64> = []
    while true {
      let runs = runsToEndBefore
      let numbers = Set(runs.map(\.id.number))
      let claims = known.isEmpty ? [] : runs.compactMap { run in run.core.withState { _ in run.claim } }
      for table in tables { table.deliver(table.awaitReached(numbers, from: source, claims: claims)) }
      if numbers.isSubset(of: known) { return }
      known.formUnion(numbers)
    }
  }

  /// This run, and all that have to end before it, as far as is known at this moment.
  private var runsToEndBefore: [DetachedRun] {
    var seen: Set<ProcedureID> = [id]
    var runs = [self]
    var next = 0
    while next < runs.count {
      let run = runs[next]
      let more = run.core.withState { _ in
        run.awaitedRuns + run.dependencyHandles.compactMap { ($0 as? any RunDependency)?.dependencyRun }
      }
      runs += more.filter { !$0.isFinished && seen.insert($0.id).inserted }
      next += 1
    }
    return runs
  }

  private func noteAwait(of run: DetachedRun) {
    core.withState { _ in noteAwaitedRun(run) }
  }

  private func forgetAwait(of run: DetachedRun) {
    let forgotten = core.withState { _ in forgetAwaitedRun(run) }
    _ = forgotten
  }
}

/// Internal. A dependency whose run is known.
protocol RunDependency: ProcedureDependency {
  var dependencyRun: DetachedRun { get }
}

extension ProcedureContext {
  /// The innermost run that others can wait for and this body is part of.
  fileprivate var innermostRun: DetachedRun? {
    sequence(first: self, next: \.scope.parent).lazy.compactMap { $0.scope as? DetachedRun }.first { _ in true }
  }

  /// The tables in which something is held for this body, with the innermost claim.
  fileprivate var tablesOfHolds: [(table: ResourceTable, hold: ResourceClaim)] {
    guard let hold else { return [] }
    var tables: [(table: ResourceTable, hold: ResourceClaim)] = []
    for claim in sequence(first: hold, next: \.enclosing) where !tables.contains(where: { $0.table === claim.table }) {
      tables.append((claim.table, claim))
    }
    return tables
  }
}
