import Synchronization

/// A table that records which procedures hold resources and which procedures are waiting for them.
///
/// By default, all queues in a process use the table ``shared``. A queue that is created with a separate table, for example in a test,
/// shares no categories or resources with queues that use other tables.
public final class ResourceTable: Sendable {
  /// The table that queues use by default.
  public static let shared = ResourceTable()

  enum Answer {
    case granted
    case waits
    case refused(ProcedureError)
  }

  fileprivate struct Pool {
    let key: ResourceKey
    /// The declared capacity.
    let declared: Int32
  }

  fileprivate struct State {
    var table = ClaimTable()
    var numbers: [ResourceKey: ResourceNumber] = [:]
    var pools: [ResourceNumber: Pool] = [:]
    var claimants: [RunNumber: Run] = [:]
    /// The capacities that were set at run time. They replace the declared ones.
    var capacities: [ByteText: Int32] = [:]
  }

  private let state = Mutex(State())

  /// Creates a table that is independent of all other tables.
  public init() {}

  /// The number of resources that at least one run holds or is waiting for.
  public var count: Int { state.withLock(\.numbers.count) }

  /// Changes the capacity of a resource in this table, even while procedures use the resource.
  ///
  /// The new capacity permanently replaces the declared one, even if the resource is not in use. If the capacity grows, waiting claims are
  /// granted immediately, to the extent that the new capacity permits. If the capacity shrinks, no procedure is interrupted, and the table
  /// grants no further units until fewer than `capacity` units are in use.
  ///
  /// A claim for more than `capacity` units fails with ``ProcedureError/Kind/capacityExceeded``. If such a claim is already waiting, it
  /// fails immediately, because it might otherwise wait forever. This does not apply to a procedure whose enclosing body already holds the
  /// units.
  ///
  /// - Parameters:
  ///   - capacity: The number of units, from 1 to 2,147,483,646. Passing any other number traps.
  ///   - resource: The resource. Only its name is used.
  /// - Complexity: O(w) for w claims that are waiting for the resource.
  public func setCapacity(_ capacity: Int, of resource: Resource) {
    let new = Int32(Resource(resource.name, capacity: capacity).capacity)
    let name = ByteText(resource.name)
    let (granted, refused, waiting) = state.withLock { state -> ([Run], [Run], [Run]) in
      state.capacities[name] = new
      guard let number = state.numbers[.units(name: name)] else { return ([], [], []) }
      var granted: [RunNumber] = []
      let (lacking, waiting) = state.table.capacityChanged(number, to: new, &granted)
      return (
        state.continuing(granted), lacking.compactMap { state.claimants[$0] },
        waiting.compactMap { state.claimants[$0] }
      )
    }
    for run in granted { run.resumeClaimants() }
    for run in refused {
      // A claim that follows a pause includes the demands of the enclosing layers.
      let layers = [run] + run.enclosingLayers
      let units =
        layers.map { ResourceRequest.units(of: .units(name: name), in: $0.layer.traits.demands) }
        .max()
        ?? 0
      guard withdraw(run) else { continue }
      run.claimRefused(
        .capacityExceeded(
          procedure: run.layerIdentity, resource: resource.name, units: units, capacity: capacity))
    }
    // With fewer units, runs that could previously continue may now be in a deadlock.
    for run in waiting {
      guard let waits = DeadlockSearch.resolveDeadlock(from: run) else { continue }
      run.claimRefused(.exclusionDeadlock(procedure: run.layerIdentity, waits: waits))
    }
  }

  // MARK: Claims

  /// Claims resources for a run. The run then either holds all of them or waits for all of them (R1).
  ///
  /// Refuses a claim that could never be granted, or that conflicts with the capacity that another run's claim declares for the same
  /// resource.
  func request(_ demands: [ResourceRequest.Demand], for run: Run) -> Answer {
    let (demands, contradiction) = ResourceRequest.merged(demands)
    if let contradiction {
      return .refused(
        .resourceConflict(
          procedure: run.layerIdentity, resource: "\(contradiction.key)", capacity: Int(contradiction.capacity),
          other: run.layerIdentity, otherCapacity: contradiction.otherCapacity))
    }
    return request(for: run, inside: run) { state, ancestors, priority in
      if let refusal = state.refusal(of: demands, for: run, inside: ancestors) { return .refused(refusal) }
      let claims = state.claims(for: demands)
      state.claimants[run.id.number] = run
      let isGranted = state.table.requested(run.id.number, claims, inside: ancestors, priority: priority)
      return isGranted ? .granted : .waits
    }
  }

  /// Claims the resources that layers released for a pause. Either the layers then hold all of these resources again, or the run waits for
  /// all of them (R1).
  ///
  /// A layer can still hold its resources, because another execution of it never released them. Layers inside such a layer use its units,
  /// so they cannot share a claim with the layers around it. This function therefore makes one claim for the outermost lacking layers, down
  /// to the first layer that still holds its resources. The caller must then request the resources of the remaining layers.
  ///
  /// - Parameters:
  ///   - layers: The layers that do not hold their resources, innermost first.
  ///   - run: The run that makes the request, and waits if necessary.
  /// - Returns: Whether the claim was granted, is waiting, or was refused.
  func request(_ layers: [Run], for run: Run) -> Answer {
    let lacking = state.withLock { state in
      for layer in layers where state.table.resumed(layer.id.number) { state.claimants[layer.id.number] = layer }
      return layers.filter { !state.table.isGranted($0.id.number) }
    }
    guard let outermost = lacking.last else { return .granted }
    let claiming = lacking.claimedTogether
    let demands = claiming.map { ResourceRequest.merged($0.layer.traits.demands).demands }
    // A layer inside the claiming ones may hold a resource while the run waits.
    return request(for: run, inside: outermost, mayHoldResources: true) { state, ancestors, priority in
      // Another task of the body is already waiting for the resources of the layers, or the run's own claim was kept for a nested run. The
      // caller will request the remaining resources later.
      if state.table.isWaiting(run.id.number) { return .waits }
      if state.table.isGranted(run.id.number) { return .granted }
      // Another task of the body has claimed some of these resources since.
      if claiming.contains(where: { state.table.isGranted($0.id.number) }) { return .granted }
      for (layer, demands) in zip(claiming, demands) {
        if let refusal = state.refusal(of: demands, for: layer, inside: ancestors) { return .refused(refusal) }
      }
      let parts = zip(claiming, demands).reversed().map { layer, demands in
        ClaimTable.Part(run: layer.id.number, demands: state.claims(for: demands))
      }
      for other in claiming + [run] { state.claimants[other.id.number] = other }
      return state.table.requested(run.id.number, for: parts, inside: ancestors, priority: priority)
        ? .granted : .waits
    }
  }

  /// Claims resources for a run. The run can use the units that the ancestors of `layer` hold.
  ///
  /// If the run has to wait, searches for a deadlock (R4) and raises the priorities of the holders (Q7).
  private func request(
    for run: Run, inside layer: Run, mayHoldResources: Bool = false,
    _ makeRequest: (inout State, [RunNumber], UInt8) -> Answer
  ) -> Answer {
    let ancestors = layer.ancestors.dropFirst().filter { !$0.layer.traits.demands.isEmpty }.map(\.id.number)
    let priority = run.core.read { run.priority($0) }
    // The request may overtake the claim of another task of the same body. Only then does another run continue.
    let (answer, continuing) = state.withLock { (makeRequest(&$0, ancestors, priority), $0.continuing([])) }
    for other in continuing { other.resumeClaimants() }
    guard case .waits = answer else { return answer }
    // The resources are not free, so the run has to wait. The run can be in a cycle only if another run might be waiting for it, or if it
    // or an enclosing run has a claim.
    if !ancestors.isEmpty || mayHoldResources || run.mayBeAwaited, let waits = DeadlockSearch.resolveDeadlock(from: run)
    {
      return .refused(.exclusionDeadlock(procedure: run.layerIdentity, waits: waits))
    }
    raise(run, to: priority)
    return .waits
  }

  /// Returns whether a run holds its resources.
  func isHeld(by run: Run) -> Bool { state.withLock { $0.table.isGranted(run.id.number) } }

  /// Releases the resources of a run, or withdraws its claim, and notifies the runs whose claims are granted as a result (R3).
  func ended(_ run: Run) {
    for other in giveBack(run) { other.resumeClaimants() }
  }

  /// Releases the resources of a run or withdraws its claim. Returns the runs whose claims are granted as a result. The caller must notify
  /// these runs.
  func giveBack(_ run: Run) -> [Run] {
    state.withLock { $0.giveBack(run) }.granted
  }

  /// Withdraws the claim of a run if the claim is waiting. Returns whether it was waiting.
  func withdraw(_ run: Run) -> Bool {
    let (withdrawn, granted) = state.withLock { $0.table.isWaiting(run.id.number) ? $0.giveBack(run) : (nil, []) }
    for other in granted { other.resumeClaimants() }
    return withdrawn != nil
  }

  /// Lets a waiting run overtake runs that depend on it (R4).
  func overtook(_ overtaking: WaitForGraph.Overtaking) {
    let granted = state.withLock { state -> [Run] in
      var granted: [RunNumber] = []
      state.table.overtook(overtaking.run, overtaking.delayed, &granted)
      return state.continuing(granted)
    }
    for run in granted { run.resumeClaimants() }
  }

  /// Raises the priorities of the runs that block a waiting run (Q7). These are the holders of the resources that it claims, and the runs
  /// ahead of it in line.
  func raise(_ run: Run, to priority: UInt8) {
    let raised = state.withLock { state in
      var raised: [RunNumber] = []
      state.table.raised(run.id.number, to: priority, &raised)
      return raised.compactMap { state.claimants[$0] }
    }
    for other in raised { other.core.raise(other.slotOwner, to: priority) }
  }

  // MARK: Queries

  /// Returns the resources that a run is waiting for, each with a run that holds it, or that is ahead in line if no run holds it.
  ///
  /// A caller that holds a lock must keep the returned runs alive until it releases the lock. Releasing the last reference to a run can
  /// call the user's code.
  func holders(of run: Run) -> [(key: ResourceKey, holder: Run, isAheadInLine: Bool)] {
    state.withLock { state in
      state.table.blockers(of: run.id.number).flatMap { blocker in
        blocker.runs.compactMap { holder in
          guard let run = state.claimants[holder], let pool = state.pools[blocker.resource] else { return nil }
          return (pool.key, run, blocker.areAheadInLine)
        }
      }
    }
  }

  /// Adds a run's waits for resources to a graph and returns the runs that block its claim.
  func addWaits(of run: Run, to graph: inout WaitForGraph) -> [Run] {
    let (extended, runs) = state.withLock { [graph] state -> (WaitForGraph, [Run]) in
      var (graph, reached): (WaitForGraph, [RunNumber]) = (graph, [])
      state.table.addWaits(of: run.id.number, to: &graph, in: ObjectIdentifier(self), reached: &reached)
      return (graph, reached.compactMap { state.claimants[$0] })
    }
    graph = extended
    return runs
  }

  /// Returns the key of a resource; `nil` if the resource is closed.
  func key(of resource: ResourceNumber) -> ResourceKey? {
    state.withLock { $0.pools[resource]?.key }
  }
}

extension ResourceTable.State {
  /// Releases the resources of a run or withdraws its claim.
  ///
  /// Returns the table's reference to the run, and the runs whose claims are granted as a result. The caller must not release the reference
  /// before it releases the lock.
  mutating func giveBack(_ run: Run) -> (released: Run?, granted: [Run]) {
    let released = claimants.removeValue(forKey: run.id.number)
    return (released, continuing(endClaim(of: run.id.number)))
  }

  /// Ends the claim of a run, if there is one, and closes the resources that become unused. Returns the runs whose claims are granted as a
  /// result.
  private mutating func endClaim(of run: RunNumber) -> [RunNumber] {
    var (granted, vacated): ([RunNumber], [ResourceNumber]) = ([], [])
    table.ended(run, &granted, vacated: &vacated)
    for resource in vacated { close(resource) }
    return granted
  }

  /// Returns the runs that continue after claims were granted: the runs of these claims, and the runs that were waiting to reclaim
  /// resources of a layer when another task of the same body reclaimed them. The waiting claims are withdrawn, because they would otherwise
  /// wait for units that their own layers hold.
  mutating func continuing(_ granted: [RunNumber]) -> [Run] {
    var runs = granted.compactMap { claimants[$0] }
    while let number = table.overtaken.popLast() {
      guard table.isWaiting(number), let run = claimants[number] else { continue }
      runs += [run] + endClaim(of: number).compactMap { claimants[$0] }
    }
    return runs
  }

  /// Returns the error for a claim that declares a conflicting capacity, or demands more units than the resource has; `nil` for any other
  /// claim.
  func refusal(
    of demands: [ResourceRequest.Demand], for run: Run, inside ancestors: [RunNumber]
  ) -> ProcedureError? {
    // A run that continues with the units of its ended claim needs no further units.
    guard table.numbers[run.id.number] == nil else { return nil }
    for demand in demands {
      guard case .units(let name) = demand.key else { continue }
      let number = numbers[demand.key]
      if let number, let pool = pools[number], pool.declared != demand.capacity,
        let other = table.users(of: number).lazy.compactMap({ claimants[$0] }).first
      {
        return .resourceConflict(
          procedure: run.layerIdentity, resource: name.text, capacity: Int(demand.capacity), other: other.layerIdentity,
          otherCapacity: Int(pool.declared))
      }
      let capacity = capacities[name] ?? demand.capacity
      guard demand.units > capacity, !(number.map { table.covers(demand.units, of: $0, ancestors) } ?? false) else {
        continue
      }
      return .capacityExceeded(
        procedure: run.layerIdentity, resource: name.text, units: Int(demand.units), capacity: Int(capacity))
    }
    return nil
  }

  /// Returns the demands with the resources replaced by their numbers.
  mutating func claims(for demands: [ResourceRequest.Demand]) -> [ClaimDemand] {
    demands.map { ClaimDemand(resource: number(of: $0), units: $0.units) }
  }

  /// Returns the number that identifies a resource, opening the resource on first use.
  mutating func number(of demand: ResourceRequest.Demand) -> ResourceNumber {
    if let number = numbers[demand.key] { return number }
    var capacity = demand.capacity
    if !capacities.isEmpty, case .units(let name) = demand.key { capacity = capacities[name] ?? capacity }
    let number = table.resourceOpened(capacity: capacity)
    numbers[demand.key] = number
    pools[number] = ResourceTable.Pool(key: demand.key, declared: demand.capacity)
    return number
  }

  /// Removes a resource that no run uses.
  mutating func close(_ resource: ResourceNumber) {
    table.resourceClosed(resource)
    if let pool = pools.removeValue(forKey: resource) { numbers[pool.key] = nil }
    if numbers.isEmpty, numbers.capacity > 1_024 { (numbers, pools, claimants) = ([:], [:], [:]) }
  }
}
