import Synchronization

/// The table of the holders of resources, and of the runs that wait for resources.
///
/// The table `shared` knows the categories and resources of the whole process. A queue with a separate table, for example in
/// a test, does not use `shared`.
public final class ResourceTable: Sendable {
  /// The table of every queue without a separate table.
  public static let shared = ResourceTable()

  enum Answer {
    case granted
    case waits
    case refused([ExclusionWait])
  }

  fileprivate struct Pool {
    let key: ResourceKey
    let capacity: Int32
  }

  fileprivate struct State {
    var table = ClaimTable()
    var numbers: [ResourceKey: ResourceNumber] = [:]
    var pools: [ResourceNumber: Pool] = [:]
    var claimants: [RunNumber: Run] = [:]
  }

  private let state = Mutex(State())
  let sharedWork = SharedWorkTable()

  /// Creates a table that is independent of all other tables.
  public init() {}

  /// The number of resources that a run holds or waits for.
  public var count: Int { state.withLock(\.numbers.count) }

  // MARK: Claims

  /// Claims resources for a run: the run holds all of the resources now, or waits for all of them.
  func request(_ demands: [ResourceRequest.Demand], for run: Run) -> Answer {
    let demands = ResourceRequest.merged(demands)
    let ancestors = run.ancestors.dropFirst().filter { !$0.level.traits.demands.isEmpty }.map(\.id.number)
    let priority = run.core.withState { state in run.member >= 0 ? state.machine[run.member].priority : 0 }
    let isGranted = state.withLock { state in
      let claims = demands.map { demand in
        ClaimDemand(resource: state.number(of: demand), units: demand.units)
      }
      state.claimants[run.id.number] = run
      return state.table.requested(run.id.number, claims, inside: ancestors, priority: priority)
    }
    if isGranted { return .granted }
    // A cycle needs a waiter for the run, or a claim of an enclosing run.
    if !ancestors.isEmpty || run.mayBeAwaited, let cycle = WaitSearch.resolveDeadlock(from: run) {
      return .refused(cycle)
    }
    raise(run, to: priority)
    return .waits
  }

  /// Whether a run holds its resources.
  func isHeld(by run: Run) -> Bool { state.withLock { $0.table.isGranted(run.id.number) } }

  /// Releases the resources of a run, or ends the wait of the run.
  func ended(_ run: Run) {
    for other in giveBack(run) { other.claimGranted() }
  }

  /// Releases the resources of a run. Returns the runs with newly granted claims, which the caller notifies.
  func giveBack(_ run: Run) -> [Run] {
    let (former, granted) = state.withLock { $0.giveBack(run) }
    _ = former
    return granted
  }

  /// Withdraws the waiting claim of a run. Returns whether the run was waiting.
  func withdraw(_ run: Run) -> Bool {
    let (former, granted) = state.withLock { $0.table.isWaiting(run.id.number) ? $0.giveBack(run) : (nil, []) }
    for other in granted { other.claimGranted() }
    return former != nil
  }

  /// Lets a run overtake runs that wait for the run.
  func overtook(_ overtaking: WaitGraph.Overtaking) {
    let granted = state.withLock { state -> [Run] in
      var granted: [RunNumber] = []
      guard state.table.isWaiting(overtaking.run) else { return [] }
      _ = state.table.overtook(overtaking.run, overtaking.delayed, &granted)
      return granted.compactMap { state.claimants[$0] }
    }
    for run in granted { run.claimGranted() }
  }

  /// Moves up the holders of the resources that a run waits for, and the claims before the run.
  func raise(_ run: Run, to priority: UInt8) {
    let raised = state.withLock { state in
      var raised: [RunNumber] = []
      state.table.raised(run.id.number, to: priority, &raised)
      return raised.compactMap { state.claimants[$0] }
    }
    for other in raised { other.core.raise(other.slotOwner, to: priority) }
  }

  // MARK: Looking

  /// Returns the resources that a run waits for, with the holders.
  func waits(of run: Run) -> [ExclusionWait] {
    let found = state.withLock { state in
      state.table.blockers(of: run.id.number).flatMap { blocker in
        (blocker.holders.isEmpty ? blocker.earlierWaiters : blocker.holders).compactMap { holder in
          state.claimants[holder].flatMap { run in state.pools[blocker.resource].map { (run, $0.key) } }
        }
      }
    }
    return found.map { ExclusionWait(procedure: run.levelIdentity, key: $0.1, holder: $0.0.levelIdentity) }
  }

  /// Adds the waits of a run for its resources to a graph of waits, and returns the runs that block the claim.
  func addWaits(of run: Run, to graph: inout WaitGraph) -> [Run] {
    let (extended, runs) = state.withLock { [graph] state -> (WaitGraph, [Run]) in
      var (graph, reached): (WaitGraph, [RunNumber]) = (graph, [])
      state.table.addWaits(of: run.id.number, to: &graph, in: ObjectIdentifier(self), reached: &reached)
      return (graph, reached.compactMap { state.claimants[$0] })
    }
    graph = extended
    return runs
  }

  func key(of resource: ResourceNumber) -> ResourceKey? {
    state.withLock { $0.pools[resource]?.key }
  }
}

extension ResourceTable.State {
  /// Releases the resources of a run, or ends the wait of the run. Returns the reference to the run, and the runs with newly
  /// granted claims.
  mutating func giveBack(_ run: Run) -> (former: Run?, granted: [Run]) {
    guard let former = claimants.removeValue(forKey: run.id.number) else { return (nil, []) }
    var (granted, vacated): ([RunNumber], [ResourceNumber]) = ([], [])
    table.ended(run.id.number, &granted, vacated: &vacated)
    for resource in vacated { close(resource) }
    return (former, granted.compactMap { claimants[$0] })
  }

  mutating func number(of demand: ResourceRequest.Demand) -> ResourceNumber {
    if let number = numbers[demand.key] {
      let capacity = pools[number]?.capacity ?? demand.capacity
      require(
        capacity == demand.capacity,
        "Resource \"\(demand.key)\" is used with the capacities \(capacity) and \(demand.capacity)")
      return number
    }
    let number = table.resourceOpened(capacity: demand.capacity)
    numbers[demand.key] = number
    pools[number] = ResourceTable.Pool(key: demand.key, capacity: demand.capacity)
    return number
  }

  mutating func close(_ resource: ResourceNumber) {
    table.resourceClosed(resource)
    if let pool = pools.removeValue(forKey: resource) { numbers[pool.key] = nil }
    if numbers.isEmpty, numbers.capacity > 1_024 { (numbers, pools, claimants) = ([:], [:], [:]) }
  }
}
