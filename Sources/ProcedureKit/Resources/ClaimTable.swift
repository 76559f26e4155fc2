/// A number that identifies a run. It is never reused.
typealias RunNumber = UInt64

/// The number of an open resource. It can be reused after the resource is closed.
typealias ResourceNumber = Int32

/// The number of units of one resource that a run needs.
///
/// A run that holds a category exclusively needs the entire capacity, and a run that shares the category needs one unit.
struct ClaimDemand: Equatable {
  let resource: ResourceNumber
  let units: Int32
}

/// A table that decides which runs hold which resources, and which waiting run is next (R1, R3, R4).
///
/// ```
/// resource ── pool ── holders: A ── inner pool of A ── holders: a run inside A
///                  └─ line: B, C                    └─ line: another run inside A
/// ```
/// A claim has an *entry* in each pool from which it takes units. The entry waits in the *line* of the pool until the claim is granted,
/// after which it belongs to the *holders* of the pool. A claim is granted when each of its entries is first in its line and all of its
/// units are free.
///
/// A run inside a holder first takes units from the holder's inner pool, and takes only the remaining units from outer pools (R4). For a
/// category, whose capacity is `Int32.max`, an inner pool has the same capacity, so readers inside a reader share the inner pool. A writer
/// inside a reader waits for the readers inside its ancestors, and for all holders that are not its ancestors.
///
/// Each event takes O(e) time, where e is the number of entries of the claims that it grants or ends. For a claim on a single resource, the
/// time is constant.
struct ClaimTable {
  /// The runs that block a waiting run in one pool.
  struct Blocker: Equatable {
    let resource: ResourceNumber
    /// If too few units are free, the holders of units that the run needs, excluding its ancestors. A holder that has ended still holds
    /// units for the claims inside it. Otherwise, the runs that are waiting ahead of this run.
    let runs: [RunNumber]
    let areAheadInLine: Bool
  }

  /// A claim's phase, which changes from `waiting` to `granted` to `ended`.
  ///
  /// A claim can be removed from the table in any phase. An ended claim still holds units for the claims inside it.
  enum Phase { case waiting, granted, ended }

  /// A layer that shares one claim with other layers of the same procedure.
  struct Part {
    let run: RunNumber
    let demands: [ClaimDemand]
  }

  struct Claim {
    let run: RunNumber
    let order: UInt64
    /// The ancestors whose units the claim can use, starting with the nearest.
    var ancestors: [RunNumber]
    var phase = Phase.waiting
    var priority: UInt8
    var firstEntry: Int32 = -1
    /// The number of entries that other claims have in this claim's inner pools.
    var nestedEntries: Int32 = 0
    /// The layers that share the claim, outermost first; empty if the claim belongs to a single run. Once the claim is granted, each layer
    /// has its own claim.
    var parts: [Part] = []
  }

  struct Entry {
    let claim: Int32
    let pool: Int32
    let units: Int32
    /// The total number of units that the claim demands from all pools of the resource.
    let demand: Int32
    /// The next entry of the same claim.
    let sibling: Int32
    var innerPool: Int32 = -1
    var next: Int32 = -1
    var previous: Int32 = -1
  }

  struct EntryList {
    var first: Int32 = -1
    var last: Int32 = -1
  }

  struct Pool {
    /// The number that identifies the pool in a snapshot of the waits. A later pool that reuses the index has a different number.
    let serial: UInt64
    var capacity: Int32
    /// The root pool of the same resource; -1 for a root pool.
    let root: Int32
    /// The claim that holds the units of the pool; -1 for a root pool.
    let owner: Int32
    /// The capacity minus the number of held units. The value is negative if the capacity was lowered below the number of held units.
    var free: Int32
    var entryCount: Int32 = 0
    var line = EntryList()
    var holders = EntryList()

    /// The waiting entries if `isWaiting` is `true`; otherwise the entries that hold units.
    subscript(isWaiting: Bool) -> EntryList {
      get { isWaiting ? line : holders }
      set { if isWaiting { line = newValue } else { holders = newValue } }
    }
  }

  var claims = Slots<Claim>()
  var entries = Slots<Entry>()
  var pools = Slots<Pool>()
  var numbers: [RunNumber: Int32] = [:]
  /// For each layer that shares a waiting claim with other layers, the runs whose claims are waiting for the layer's resources.
  var waitingForLayer: [RunNumber: [RunNumber]] = [:]
  /// The runs whose claims were waiting for a layer's resources when another run reclaimed these resources for the same layer. The claims
  /// must be withdrawn, because they would otherwise wait for units that their own layers hold.
  var overtaken: [RunNumber] = []
  var poolsToServe: ContiguousArray<Int32> = []
  var nextOrder: UInt64 = 0
  var nextSerial: UInt64 = 0

  // MARK: Resources

  /// Adds a resource and returns its number.
  mutating func resourceOpened(capacity: Int32) -> ResourceNumber {
    poolOpened(capacity: capacity, root: -1, owner: -1)
  }

  /// Returns the resource to which the units of a pool belong.
  func resource(of pool: Int32) -> ResourceNumber { pools[pool].root < 0 ? pool : pools[pool].root }

  /// Returns whether no run holds or is waiting for the resource.
  func isUnused(_ resource: ResourceNumber) -> Bool { pools[resource].entryCount == 0 }

  /// Changes the capacity of a resource that is in use, and appends to `granted` the runs whose claims can be granted as a result.
  ///
  /// Returns the waiting runs in two lists: `lacking` contains the runs that need more units than the new capacity, and `waiting` contains
  /// all other runs.
  mutating func capacityChanged(
    _ resource: ResourceNumber, to capacity: Int32, _ granted: inout [RunNumber]
  ) -> (lacking: [RunNumber], waiting: [RunNumber]) {
    pools[resource].free += capacity - pools[resource].capacity
    pools[resource].capacity = capacity
    poolsToServe.append(resource)
    serve(&granted)
    let line = list(from: pools[resource].line.first)
    return (
      line.filter { $0.demand > capacity }.map { claims[$0.claim].run },
      line.filter { $0.demand <= capacity }.map { claims[$0.claim].run }
    )
  }

  /// Removes an unused resource. Its number can be reused afterwards.
  mutating func resourceClosed(_ resource: ResourceNumber) {
    precondition(isUnused(resource), "\(#function): resource \(resource) is in use")
    pools.remove(resource)
    releaseMemory()
  }

  // MARK: Claims

  /// Claims all `demands` for a run together, or makes the run wait for all of them (R1). Returns whether the run now holds the units.
  ///
  /// If the run has an ended claim whose units a nested run is still using, the run continues with these units. The run must not have any
  /// other claim. `ancestors` contains the run's ancestors that have claims, nearest first. An ancestor that has ended is considered only
  /// if a nearer ancestor has not ended. A run in a task that outlives its body therefore waits like any other run.
  mutating func requested(
    _ run: RunNumber, _ demands: [ClaimDemand], inside ancestors: [RunNumber] = [], priority: UInt8 = 0
  ) -> Bool {
    resumed(run) || enter(run, demands, inside: ancestors, priority: priority, parts: [])
  }

  /// Creates a single claim for all the units that the layers of a procedure released for a pause (R1). Returns whether the layers now hold
  /// the units.
  ///
  /// Once the units are granted, each layer has its own claim, as it had before the pause. `parts` are the layers, outermost first, and
  /// `ancestors` are the ancestors of the outermost layer.
  ///
  /// - Complexity: O(d²) for d demands of the layers.
  mutating func requested(
    _ run: RunNumber, for parts: [Part], inside ancestors: [RunNumber] = [], priority: UInt8 = 0
  ) -> Bool {
    var demands: [ClaimDemand] = []
    for demand in parts.flatMap(\.demands) {
      guard let index = demands.firstIndex(where: { $0.resource == demand.resource }) else {
        demands.append(demand)
        continue
      }
      // A layer uses the units of the enclosing layers first, so the layers together need only the largest demand.
      demands[index] = ClaimDemand(resource: demand.resource, units: max(demand.units, demands[index].units))
    }
    return enter(run, demands, inside: ancestors, priority: priority, parts: parts)
  }

  /// Lets a run whose claim has ended continue with the claim's units, if a nested run is still using them.
  ///
  /// Returns whether the run can continue in this way.
  mutating func resumed(_ run: RunNumber) -> Bool {
    guard let claim = numbers[run], claims[claim].phase == .ended else { return false }
    claims[claim].phase = .granted
    return true
  }

  /// Adds a claim and grants it if possible (R1). Returns whether the new claim was granted.
  private mutating func enter(
    _ run: RunNumber, _ demands: [ClaimDemand], inside ancestors: [RunNumber], priority: UInt8, parts: [Part]
  ) -> Bool {
    let claim = claims.insert(
      Claim(
        run: run, order: nextOrder, ancestors: ancestors.isEmpty ? [] : holding(ancestors), priority: priority,
        parts: parts))
    nextOrder += 1
    let previousClaim = numbers.updateValue(claim, forKey: run)
    precondition(previousClaim == nil, "\(#function): run \(run) already has a claim")
    for demand in demands { addEntries(for: demand, of: claim) }
    if canBeGranted(claim) {
      take(claim)
      // Splitting a claim does not change the number of free units, so no other claim can be granted.
      poolsToServe.removeAll(keepingCapacity: true)
      return true
    }
    // Not enough units are free, or earlier claims are waiting, so this claim waits in the line of each pool (R1).
    forEachEntry(of: claim) { table, entry in table.link(entry) }
    for part in parts { waitingForLayer[part.run, default: []].append(run) }
    return false
  }

  /// Releases the units of a run or withdraws its waiting claim (R3). Does nothing if the run has no claim or if its claim has ended.
  ///
  /// The runs whose claims are granted as a result are appended to `granted`, in the order of their requests. The resources that become
  /// unused are appended to `vacated`.
  mutating func ended(_ run: RunNumber, _ granted: inout [RunNumber], vacated: inout [ResourceNumber]) {
    guard let claim = numbers[run], claims[claim].phase != .ended else { return }
    // Runs inside the holder are still using its units, so the claim keeps them until the last of these runs ends.
    guard claims[claim].nestedEntries == 0 else {
      claims[claim].phase = .ended
      return
    }
    remove(claim, &vacated)
    serve(&granted)
    releaseMemory()
  }

  /// Moves a waiting run ahead of the runs in `delayed` that are directly ahead of it in line.
  ///
  /// These runs depend on the waiting run, directly or through other runs (R4).
  ///
  /// The delayed runs are computed by ``WaitForGraph/overtakings(for:)``. The runs whose claims are granted as a result are appended to
  /// `granted`.
  ///
  /// - Complexity: O(d) for d overtaken runs.
  mutating func overtook(_ run: RunNumber, _ delayed: Set<RunNumber>, _ granted: inout [RunNumber]) {
    guard let claim = numbers[run], claims[claim].phase == .waiting else { return }
    forEachEntry(of: claim) { table, entry in
      var (next, previous) = (Int32(-1), table.entries[entry].previous)
      while previous >= 0, delayed.contains(table.claims[table.entries[previous].claim].run) {
        (next, previous) = (previous, table.entries[previous].previous)
      }
      guard next >= 0 else { return }
      table.unlink(entry)
      table.link(entry, before: next)
      table.poolsToServe.append(table.entries[entry].pool)
    }
    serve(&granted)
  }

  /// Raises the priorities of all runs that are delaying a run (Q7). The function must be called when the delayed run starts to wait, and
  /// when its priority is raised.
  ///
  /// A run is delayed by the holders and by the earlier waiting runs, directly or indirectly. Their priorities are raised to `priority`,
  /// and they are appended to `raised`. A run therefore never waits for a run that has a lower priority.
  ///
  /// - Complexity: O(r + e) for r raised runs and e entries of the run, plus O(h) for h holders if the run is first in line.
  mutating func raised(_ run: RunNumber, to priority: UInt8, _ raised: inout [RunNumber]) {
    guard let claim = numbers[run] else { return }
    claims[claim].priority = max(claims[claim].priority, priority)
    var pending = [claim]
    while let next = pending.popLast() {
      guard claims[next].phase == .waiting else { continue }
      forEachEntry(of: next) { table, entry in
        var other = table.entries[entry].previous
        while table.raise(other, to: priority, &raised, &pending) { other = table.entries[other].previous }
        // An earlier waiting run that has at least this priority has already raised the holders.
        guard other < 0 else { return }
        var holder = table.pools[table.entries[entry].pool].holders.first
        while holder >= 0 {
          _ = table.raise(holder, to: priority, &raised, &pending)
          holder = table.entries[holder].next
        }
      }
    }
  }

  /// Raises the priority of the claim that an entry belongs to. Returns `false` if there is no entry, or if the claim already has at least
  /// this priority.
  mutating func raise(
    _ entry: Int32, to priority: UInt8, _ raised: inout [RunNumber], _ pending: inout [Int32]
  ) -> Bool {
    guard entry >= 0, claims[entries[entry].claim].priority < priority else { return false }
    claims[entries[entry].claim].priority = priority
    raised.append(claims[entries[entry].claim].run)
    pending.append(entries[entry].claim)
    return true
  }

  // MARK: Queries

  /// Returns the runs that hold a resource or are waiting for it.
  ///
  /// - Complexity: O(n) for n runs.
  func users(of resource: ResourceNumber) -> [RunNumber] {
    runs(from: pools[resource].holders.first) + runs(from: pools[resource].line.first)
  }

  /// Returns whether one of the ancestors holds enough units of a resource for a run that needs `units` of them.
  func covers(_ units: Int32, of resource: ResourceNumber, _ ancestors: [RunNumber]) -> Bool {
    holding(ancestors).contains { ancestor in
      guard let owner = numbers[ancestor] else { return false }
      return !allEntries(of: owner) { self.resource(of: $0.pool) != resource || $0.demand < units }
    }
  }

  /// Returns whether the claim of a run was granted and has not ended.
  func isGranted(_ run: RunNumber) -> Bool { numbers[run].map { claims[$0].phase == .granted } ?? false }

  func isWaiting(_ run: RunNumber) -> Bool { numbers[run].map { claims[$0].phase == .waiting } ?? false }
}
