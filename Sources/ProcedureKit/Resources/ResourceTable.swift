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
    case refused(ProcedureError)
  }

  fileprivate struct Pool {
    let key: ResourceKey
    /// The capacity that the declarations say.
    let declared: Int32
  }

  fileprivate struct State {
    var table = ClaimTable()
    var numbers: [ResourceKey: ResourceNumber] = [:]
    var pools: [ResourceNumber: Pool] = [:]
    var claimants: [RunNumber: Run] = [:]
    /// The capacities that were set, which hold instead of those of the declarations.
    var capacities: [ByteText: Int32] = [:]
  }

  private let state = Mutex(State())

  /// Creates a table that is independent of all other tables.
  public init() {}

  /// The number of resources that a run holds or waits for.
  public var count: Int { state.withLock(\.numbers.count) }

  /// Changes the capacity of a resource in this table, also while runs use the resource.
  ///
  /// The capacity holds from now on instead of the declared one, also when nothing uses the resource meanwhile. With more units,
  /// waiting claims are granted at once. With fewer units, no run is interrupted: units that runs give back are granted again once
  /// fewer than `capacity` units are in use. A claim for more than `capacity` units fails with
  /// ``ProcedureError/Kind/capacityExceeded``, a waiting claim at once, since the claim might wait
  /// forever; only a part of a body that holds the units already goes on.
  ///
  /// - Parameters:
  ///   - capacity: The number of units, from 1 to 2,147,483,646. Another number traps.
  ///   - resource: The resource, which its name identifies.
  /// - Complexity: O(w) for w claims that wait for the resource.
  public func setCapacity(_ capacity: Int, of resource: Resource) {
    let new = Int32(Resource(resource.name, capacity: capacity).capacity)
    let name = ByteText(resource.name)
    let (granted, refused, waiting) = state.withLock { state -> ([Run], [Run], [Run]) in
      state.capacities[name] = new
      guard let number = state.numbers[.units(name: name)] else { return ([], [], []) }
      var granted: [RunNumber] = []
      let (lacking, waiting) = state.table.capacityChanged(number, to: new, &granted)
      return (
        granted.compactMap { state.claimants[$0] }, lacking.compactMap { state.claimants[$0] },
        waiting.compactMap { state.claimants[$0] }
      )
    }
    for run in granted { run.claimGranted() }
    for run in refused {
      // A claim after a pause is for several layers.
      let layers = [run] + run.enclosingLayers
      let units =
        layers.map { ResourceRequest.units(of: .units(name: name), in: $0.layer.traits.demands.elements) }
        .max()
        ?? 0
      guard withdraw(run) else { continue }
      run.claimRefused(
        .capacityExceeded(
          procedure: run.layerIdentity, resource: resource.name, units: units, capacity: capacity))
    }
    // With fewer units, runs may wait for each other that did not before.
    for run in waiting {
      guard let waits = DeadlockSearch.resolveDeadlock(from: run) else { continue }
      run.claimRefused(.exclusionDeadlock(procedure: run.layerIdentity, waits: waits))
    }
  }

  // MARK: Claims

  /// Claims resources for a run: the run holds all of the resources now, or waits for all of them. Refused is a claim that could never be
  /// granted, or whose declaration of a resource differs from that of another run.
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

  /// Claims again, for a run that has paused, what layers of its procedure have released: they hold all of it now, or wait for all of it (R1).
  ///
  /// - Parameters:
  ///   - layers: The layers that hold nothing, the innermost first.
  ///   - run: The run that waits.
  /// - Returns: Whether the layers hold their resources.
  func request(_ layers: [Run], for run: Run) -> Answer {
    guard let outermost = layers.last else { return .granted }
    return request(for: run, inside: outermost) { state, ancestors, priority in
      for layer in layers where state.table.resumed(layer.id.number) { state.claimants[layer.id.number] = layer }
      let lacking = layers.filter { !state.table.isGranted($0.id.number) }
      guard !lacking.isEmpty else { return .granted }
      // Another part of the body waits for the same, or the claim of the run itself was kept for a nested run: the rest follows by another
      // request.
      if state.table.isWaiting(run.id.number) { return .waits }
      if state.table.isGranted(run.id.number) { return .granted }
      for layer in lacking {
        let demands = ResourceRequest.merged(layer.layer.traits.demands.elements).demands
        if let refusal = state.refusal(of: demands, for: layer, inside: ancestors) { return .refused(refusal) }
      }
      let parts = lacking.reversed().map { layer in
        ClaimTable.Part(
          run: layer.id.number,
          demands: state.claims(for: ResourceRequest.merged(layer.layer.traits.demands.elements).demands))
      }
      for other in lacking + [run] { state.claimants[other.id.number] = other }
      return state.table.requested(run.id.number, for: parts, inside: ancestors, priority: priority)
        ? .granted : .waits
    }
  }

  /// Makes a request of a run, inside of the ancestors of a layer, and looks for a deadlock if the run has to wait.
  private func request(
    for run: Run, inside layer: Run, _ makeRequest: (inout State, [RunNumber], UInt8) -> Answer
  ) -> Answer {
    let ancestors = layer.ancestors.dropFirst().filter { !$0.layer.traits.demands.isEmpty }.map(\.id.number)
    let priority = run.core.read { run.priority($0) }
    let answer = state.withLock { makeRequest(&$0, ancestors, priority) }
    guard case .waits = answer else { return answer }
    // A cycle needs a waiter for the run, or a claim of an enclosing run.
    if !ancestors.isEmpty || run.mayBeAwaited, let waits = DeadlockSearch.resolveDeadlock(from: run) {
      return .refused(.exclusionDeadlock(procedure: run.layerIdentity, waits: waits))
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
  func overtook(_ overtaking: WaitForGraph.Overtaking) {
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

  /// Returns the resources that a run waits for, with the runs that hold them. A caller that has a lock keeps the runs until it has released
  /// the lock, since the release of a last reference to a run can call the user.
  func holders(of run: Run) -> [(key: ResourceKey, holder: Run)] {
    state.withLock { state in
      state.table.blockers(of: run.id.number).flatMap { blocker in
        (blocker.holders.isEmpty ? blocker.earlierWaiters : blocker.holders).compactMap { holder in
          state.claimants[holder].flatMap { run in state.pools[blocker.resource].map { ($0.key, run) } }
        }
      }
    }
  }

  /// Adds the waits of a run for its resources to a graph of waits, and returns the runs that block the claim.
  func addWaits(of run: Run, to graph: inout WaitForGraph) -> [Run] {
    let (extended, runs) = state.withLock { [graph] state -> (WaitForGraph, [Run]) in
      var (graph, reached): (WaitForGraph, [RunNumber]) = (graph, [])
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
    let former = claimants.removeValue(forKey: run.id.number)
    // A layer that two parts of a body retake can have its claim from the second one.
    guard table.numbers[run.id.number] != nil else { return (former, []) }
    var (granted, vacated): ([RunNumber], [ResourceNumber]) = ([], [])
    table.ended(run.id.number, &granted, vacated: &vacated)
    for resource in vacated { close(resource) }
    return (former, granted.compactMap { claimants[$0] })
  }

  /// The reason why a claim can not be made: another declaration of a resource, or too few units.
  func refusal(
    of demands: [ResourceRequest.Demand], for run: Run, inside ancestors: [RunNumber]
  ) -> ProcedureError? {
    // A run that goes on with the units of a former claim needs no more.
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

  /// What the table calls the demands.
  mutating func claims(for demands: [ResourceRequest.Demand]) -> [ClaimDemand] {
    demands.map { ClaimDemand(resource: number(of: $0), units: $0.units) }
  }

  mutating func number(of demand: ResourceRequest.Demand) -> ResourceNumber {
    if let number = numbers[demand.key] { return number }
    var capacity = demand.capacity
    if !capacities.isEmpty, case .units(let name) = demand.key { capacity = capacities[name] ?? capacity }
    let number = table.resourceOpened(capacity: capacity)
    numbers[demand.key] = number
    pools[number] = ResourceTable.Pool(key: demand.key, declared: demand.capacity)
    return number
  }

  mutating func close(_ resource: ResourceNumber) {
    table.resourceClosed(resource)
    if let pool = pools.removeValue(forKey: resource) { numbers[pool.key] = nil }
    if numbers.isEmpty, numbers.capacity > 1_024 { (numbers, pools, claimants) = ([:], [:], [:]) }
  }
}
