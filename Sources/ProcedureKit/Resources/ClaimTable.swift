/// The number of a run; no other run ever has it.
typealias RunNumber = UInt64

/// The number of an open resource; another resource can have it later.
typealias ResourceNumber = Int32

/// Internal. The units of one resource that a run needs: all of the capacity to exclude others, 1 to share.
struct ClaimDemand: Equatable {
  let resource: ResourceNumber
  let units: Int32
}

/// Internal. Decides which run holds which resources, and which run is next (R1, R3, R4).
///
/// ```
/// resource ── pool ── holders: A ── inner pool of A ── holders: a run inside of A
///                  └─ line: B, C                    └─ line: another run inside of A
/// ```
/// A claim has an *entry* in each pool from which the claim takes units. An entry stands in the pool's line until the claim
/// is granted, and then among the pool's holders. A claim is granted when it is first in all its lines and all units are free.
///
/// A run inside of a holder takes the holder's units from the holder's inner pool, and only the rest from further out. In a
/// category (capacity `Int32.max`) an inner pool has that capacity too, so that readers inside of a reader share; a writer
/// inside of a reader waits for the readers inside of its ancestors and for all holders that are not its ancestors.
///
/// Each event is O(e) for the e entries of the claims that it grants or ends, and constant for a claim of one resource.
struct ClaimTable {
  /// A pool in which a waiting run lacks units, or is not first.
  struct Blocker: Equatable {
    let resource: ResourceNumber
    /// The holders of units that the run lacks, without its ancestors. A holder that has ended holds for claims inside of it.
    let holders: [RunNumber]
    /// The runs before it in the line, if enough units are free.
    let earlierWaiters: [RunNumber]
  }

  /// `waiting` → `granted` → `ended`, and out of the table; out of it from each. `ended` holds for the claims inside.
  enum Phase { case waiting, granted, ended }

  /// One layer of a procedure in a claim of several layers.
  struct Part {
    let run: RunNumber
    let demands: [ClaimDemand]
  }

  struct Claim {
    let run: RunNumber
    let order: UInt64
    /// The ancestors from which the claim may take, nearest first.
    var ancestors: [RunNumber]
    var phase = Phase.waiting
    var priority: UInt8
    var firstEntry: Int32 = -1
    /// The number of entries in its inner pools.
    var nestedEntries: Int32 = 0
    /// What becomes of a claim of several layers once it is granted, the outermost layer first; empty for a claim of one run.
    var parts: [Part] = []
  }

  struct Entry {
    let claim: Int32
    let pool: Int32
    let units: Int32
    /// The units of the resource that the claim demands from all pools together.
    let demand: Int32
    /// The claim's next entry.
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
    /// The number by which a snapshot of the waits knows the pool; a later pool in the same place has another one.
    let serial: UInt64
    var capacity: Int32
    /// The root pool of the same resource; -1 in a root pool.
    let root: Int32
    /// The claim whose units these are; -1 in a root pool.
    let owner: Int32
    /// The capacity without the units held; negative after the capacity has become less than that.
    var free: Int32
    var entryCount: Int32 = 0
    var line = EntryList()
    var holders = EntryList()

    /// The list of the entries of waiting claims, or of the others.
    subscript(isWaiting: Bool) -> EntryList {
      get { isWaiting ? line : holders }
      set { if isWaiting { line = newValue } else { holders = newValue } }
    }
  }

  var claims = Slots<Claim>()
  var entries = Slots<Entry>()
  var pools = Slots<Pool>()
  var numbers: [RunNumber: Int32] = [:]
  var poolsToServe: ContiguousArray<Int32> = []
  var nextOrder: UInt64 = 0
  var nextSerial: UInt64 = 0

  // MARK: Resources

  mutating func resourceOpened(capacity: Int32) -> ResourceNumber {
    poolOpened(capacity: capacity, root: -1, owner: -1)
  }

  /// Whether no run holds the resource or waits for it.
  func isUnused(_ resource: ResourceNumber) -> Bool { pools[resource].entryCount == 0 }

  /// The capacity of a resource in use has changed. Appends the runs with newly granted requests to `granted`, and returns the
  /// waiting runs that need more units than the capacity, and the others.
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

  /// Forgets an unused resource; its number can be used again.
  mutating func resourceClosed(_ resource: ResourceNumber) {
    precondition(isUnused(resource), "\(#function): resource \(resource) is in use")
    pools.remove(resource)
    releaseMemory()
  }

  // MARK: Claims

  /// A run needs `demands` together; otherwise it waits for them together.
  /// Returns whether the run holds the units at once.
  ///
  /// The run has no claim, or has ended one that a nested run still uses: then the run goes on with the same units. `ancestors` are
  /// the ancestors of the run that have claims, nearest first. An ancestor that has ended counts only if a nearer one has not: a
  /// task that a body has left behind stands in line as any other run.
  mutating func requested(
    _ run: RunNumber, _ demands: [ClaimDemand], inside ancestors: [RunNumber] = [], priority: UInt8 = 0
  ) -> Bool {
    if resumed(run) { return true }
    return enter(run, demands, inside: ancestors, priority: priority, parts: [])
  }

  /// A run needs again what layers of its procedure have released for a pause: all of it together (R1). Once granted, each layer has a claim
  /// of its own, as before the pause. The layers are `parts`, the outermost first, and `ancestors` are those of the outermost layer.
  /// Returns whether the layers hold the units at once.
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
      // A layer takes the units of the layers around it first.
      demands[index] = ClaimDemand(resource: demand.resource, units: max(demand.units, demands[index].units))
    }
    return enter(run, demands, inside: ancestors, priority: priority, parts: parts)
  }

  /// A run continues with the units of its former claim, which were kept for a nested run. Returns whether there is such a claim.
  mutating func resumed(_ run: RunNumber) -> Bool {
    guard let former = numbers[run], claims[former].phase == .ended else { return false }
    claims[former].phase = .granted
    return true
  }

  private mutating func enter(
    _ run: RunNumber, _ demands: [ClaimDemand], inside ancestors: [RunNumber], priority: UInt8, parts: [Part]
  ) -> Bool {
    let claim = claims.insert(
      Claim(
        run: run, order: nextOrder, ancestors: ancestors.isEmpty ? [] : holding(ancestors), priority: priority,
        parts: parts))
    nextOrder += 1
    let former = numbers.updateValue(claim, forKey: run)
    precondition(former == nil, "\(#function): run \(run) has a claim already")
    for demand in demands { addEntries(for: demand, of: claim) }
    if allEntries(of: claim, { pools[$0.pool].line.first < 0 && $0.units <= pools[$0.pool].free }) {
      take(claim)
      // A split changes no free units: no other run is granted anything.
      poolsToServe.removeAll(keepingCapacity: true)
      return true
    }
    forEachEntry(of: claim) { table, entry in table.link(entry) }
    return false
  }

  /// A run gives back its units, or withdraws its request; nothing if the run has no claim, or has ended. Appends the runs with
  /// newly granted requests to `granted`, in the order of the requests, and the resources that are unused now to `vacated`.
  mutating func ended(_ run: RunNumber, _ granted: inout [RunNumber], vacated: inout [ResourceNumber]) {
    guard let claim = numbers[run], claims[claim].phase != .ended else { return }
    guard claims[claim].nestedEntries == 0 else {
      claims[claim].phase = .ended
      return
    }
    remove(claim, &vacated)
    serve(&granted)
    releaseMemory()
  }

  /// A waiting run goes before the delayed runs that stand directly before it, since they wait for a run that waits for it.
  /// The delayed runs come from ``WaitForGraph/overtakings(for:)``. Appends the runs with newly granted requests to `granted`, and returns
  /// the highest priority of the overtaken runs; ``raised(_:to:_:)`` has to follow if that priority is higher. O(d) for d overtaken runs.
  mutating func overtook(_ run: RunNumber, _ delayed: Set<RunNumber>, _ granted: inout [RunNumber]) -> UInt8 {
    guard let claim = numbers[run], claims[claim].phase == .waiting else { return 0 }
    var highest = claims[claim].priority
    forEachEntry(of: claim) { table, entry in
      var (next, previous) = (Int32(-1), table.entries[entry].previous)
      while previous >= 0, delayed.contains(table.claims[table.entries[previous].claim].run) {
        highest = max(highest, table.claims[table.entries[previous].claim].priority)
        (next, previous) = (previous, table.entries[previous].previous)
      }
      guard next >= 0 else { return }
      table.unlink(entry)
      table.link(entry, before: next)
      table.poolsToServe.append(table.entries[entry].pool)
    }
    serve(&granted)
    return highest
  }

  /// A run has this priority now, if its own is lower; to be told of each run that starts to wait (Q7).
  /// Appends the holders and earlier waiters, direct and indirect, that have a lower priority to `raised`: these runs get the
  /// priority, so that a line never holds back a higher priority. O(r + e) for r raised runs and e entries of the run; O(h) more for
  /// h holders if the run is first.
  mutating func raised(_ run: RunNumber, to priority: UInt8, _ raised: inout [RunNumber]) {
    guard let claim = numbers[run] else { return }
    claims[claim].priority = max(claims[claim].priority, priority)
    var pending = [claim]
    while let next = pending.popLast() {
      guard claims[next].phase == .waiting else { continue }
      forEachEntry(of: next) { table, entry in
        var other = table.entries[entry].previous
        while table.raise(other, to: priority, &raised, &pending) { other = table.entries[other].previous }
        // A waiter of this priority has raised the holders already.
        guard other < 0 else { return }
        var holder = table.pools[table.entries[entry].pool].holders.first
        while holder >= 0 {
          _ = table.raise(holder, to: priority, &raised, &pending)
          holder = table.entries[holder].next
        }
      }
    }
  }

  mutating func raise(
    _ entry: Int32, to priority: UInt8, _ raised: inout [RunNumber], _ pending: inout [Int32]
  ) -> Bool {
    guard entry >= 0, claims[entries[entry].claim].priority < priority else { return false }
    claims[entries[entry].claim].priority = priority
    raised.append(claims[entries[entry].claim].run)
    pending.append(entries[entry].claim)
    return true
  }

  // MARK: Looking

  /// The runs that hold a resource or wait for it. O(n) for n runs.
  func users(of resource: ResourceNumber) -> [RunNumber] {
    runs(from: pools[resource].holders.first) + runs(from: pools[resource].line.first)
  }

  /// Whether one of the ancestors holds so many units of a resource that a run inside needs no more.
  func covers(_ units: Int32, of resource: ResourceNumber, _ ancestors: [RunNumber]) -> Bool {
    holding(ancestors).contains { ancestor in
      guard let owner = numbers[ancestor] else { return false }
      return !allEntries(of: owner) { entry in
        let root = pools[entry.pool].root
        return (root < 0 ? entry.pool : root) != resource || entry.demand < units
      }
    }
  }

  /// Whether a run holds all that it demanded, and has not ended.
  func isGranted(_ run: RunNumber) -> Bool { numbers[run].map { claims[$0].phase == .granted } ?? false }

  func isWaiting(_ run: RunNumber) -> Bool { numbers[run].map { claims[$0].phase == .waiting } ?? false }
}
