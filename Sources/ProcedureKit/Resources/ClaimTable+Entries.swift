/// Functions that grant claims and maintain the lists of entries in the pools.
extension ClaimTable {
  // MARK: Granting

  /// Grants each claim that is first in all of its lines and whose units are all free (R1). The runs of these claims are appended to
  /// `granted`, in the order of their requests.
  mutating func serve(_ granted: inout [RunNumber]) {
    let start = granted.count
    while let pool = poolsToServe.popLast() {
      // Stop at the first claim in line that cannot be granted, because later claims must not overtake it (R1).
      while pools[pool].line.first >= 0, canBeGranted(entries[pools[pool].line.first].claim) {
        let claim = entries[pools[pool].line.first].claim
        let run = claims[claim].run
        forEachEntry(of: claim) { table, entry in
          table.unlink(entry)
          if table.entries[entry].pool != pool { table.poolsToServe.append(table.entries[entry].pool) }
        }
        take(claim)
        granted.append(run)
      }
    }
    // The runs must continue in the order of their requests, not in the order of the pools.
    guard granted.count - start > 1 else { return }
    granted[start...].sort { order(of: $0) < order(of: $1) }
  }

  func order(of run: RunNumber) -> UInt64 { numbers[run].map { claims[$0].order } ?? 0 }

  /// Returns whether a new or waiting claim can be granted: no earlier claim is in any of its lines, and all of its units are free (R1).
  func canBeGranted(_ claim: Int32) -> Bool {
    allEntries(of: claim) { entry in
      let first = pools[entry.pool].line.first
      return (first < 0 || entries[first].claim == claim) && entry.units <= pools[entry.pool].free
    }
  }

  /// Grants a claim by taking its units and adding its entries to the holders.
  mutating func take(_ claim: Int32) {
    claims[claim].phase = .granted
    forEachEntry(of: claim) { table, entry in
      table.pools[table.entries[entry].pool].free -= table.entries[entry].units
      table.link(entry)
    }
    if !claims[claim].parts.isEmpty { split(claim) }
  }

  /// Replaces a claim for several layers with one claim for each layer. Together, the new claims hold the same units as the old one.
  private mutating func split(_ claim: Int32) {
    let merged = claims[claim]
    forgetParts(of: claim)
    for part in merged.parts { overtaken += waitingForLayer[part.run] ?? [] }
    numbers[merged.run] = nil
    var ancestors = merged.ancestors
    for part in merged.parts {
      // Another task of the body has already reclaimed the resources of this layer.
      guard numbers[part.run] == nil else {
        ancestors.insert(part.run, at: 0)
        continue
      }
      let own = claims.insert(
        Claim(run: part.run, order: nextOrder, ancestors: ancestors, priority: merged.priority))
      nextOrder += 1
      numbers[part.run] = own
      for demand in part.demands { addEntries(for: demand, of: own) }
      // Until the merged claim is removed, it still holds the same units, so `free` can be negative.
      take(own)
      ancestors.insert(part.run, at: 0)
    }
    let own = numbers[merged.run]
    var vacated: [ResourceNumber] = []
    remove(claim, &vacated)
    precondition(vacated.isEmpty, "\(#function): the layers hold fewer units than their claim")
    numbers[merged.run] = own
  }

  /// Records that a claim is no longer waiting on behalf of the layers that share it.
  private mutating func forgetParts(of claim: Int32) {
    let run = claims[claim].run
    for part in claims[claim].parts {
      waitingForLayer[part.run]?.removeAll { $0 == run }
      if waitingForLayer[part.run]?.isEmpty == true { waitingForLayer[part.run] = nil }
    }
    claims[claim].parts = []
  }

  /// Removes a claim. If the claim of an ancestor has ended and was kept only for this claim, the ancestor's claim is also removed.
  mutating func remove(_ claim: Int32, _ vacated: inout [ResourceNumber]) {
    forgetParts(of: claim)
    forEachEntry(of: claim) { table, index in
      let entry = table.entries[index]
      table.unlink(index)
      if table.claims[claim].phase != .waiting { table.pools[entry.pool].free += entry.units }
      table.pools[entry.pool].entryCount -= 1
      if entry.innerPool >= 0 { table.pools.remove(entry.innerPool) }
      table.poolsToServe.append(entry.pool)
      table.entries.remove(index)
      let owner = table.pools[entry.pool].owner
      if owner >= 0 {
        table.claims[owner].nestedEntries -= 1
        if table.claims[owner].nestedEntries == 0, table.claims[owner].phase == .ended { table.remove(owner, &vacated) }
      } else if table.isUnused(entry.pool) {
        vacated.append(entry.pool)
      }
    }
    numbers[claims[claim].run] = nil
    claims[claim].ancestors = []
    claims.remove(claim)
  }

  /// Releases the memory of the table if the table is empty but still occupies a lot of memory.
  mutating func releaseMemory() {
    guard numbers.isEmpty else { return }
    if claims.releaseMemory() {
      entries.removeAll()
      (numbers, waitingForLayer, overtaken, poolsToServe) = ([:], [:], [], [])
    }
    _ = pools.releaseMemory()
  }

  // MARK: Entries

  /// Returns the ancestors that hold units.
  ///
  /// An ancestor holds units if its claim is granted, or if its claim has ended and a nearer ancestor has a granted claim.
  func holding(_ ancestors: [RunNumber]) -> [RunNumber] {
    var isInside = false
    return ancestors.filter { ancestor in
      guard let claim = numbers[ancestor], claims[claim].phase != .waiting else { return false }
      if claims[claim].phase == .granted { isInside = true }
      return isInside
    }
  }

  /// Adds a demand's entries to the inner pools of the ancestors, nearest first (R4).
  ///
  /// If the ancestors hold fewer units than the demand, an entry for the remaining units is added to the root pool.
  mutating func addEntries(for demand: ClaimDemand, of claim: Int32) {
    precondition(demand.units > 0, "\(#function): a demand must be for at least one unit, got \(demand)")
    /// The number of units held by the ancestors that have been visited so far.
    var covered: Int32 = 0
    for ancestor in claims[claim].ancestors where demand.units > covered {
      guard let owner = numbers[ancestor], let pool = innerPool(of: owner, demand.resource) else { continue }
      let units = min(demand.units, pools[pool.number].capacity) - min(covered, pools[pool.number].capacity)
      if units > 0 {
        addEntry(of: claim, in: pool.number, units, demand.units)
        claims[owner].nestedEntries += 1
      }
      covered = max(covered, pool.held)
    }
    if demand.units > covered { addEntry(of: claim, in: demand.resource, demand.units - covered, demand.units) }
  }

  /// Adds an entry that takes `units` units from a pool, as part of a demand for a total of `demand` units across all pools.
  mutating func addEntry(of claim: Int32, in pool: Int32, _ units: Int32, _ demand: Int32) {
    let sibling = claims[claim].firstEntry
    claims[claim].firstEntry = entries.insert(
      Entry(claim: claim, pool: pool, units: units, demand: demand, sibling: sibling))
    pools[pool].entryCount += 1
  }

  /// Returns a claim's inner pool for a resource, and the number of units that the claim holds; `nil` if it holds no units.
  ///
  /// The pool is opened on first use.
  mutating func innerPool(of claim: Int32, _ resource: Int32) -> (number: Int32, held: Int32)? {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let entry = entries[index]
      guard self.resource(of: entry.pool) == resource else {
        index = entry.sibling
        continue
      }
      if entry.innerPool < 0 {
        let capacity = pools[resource].capacity == .max ? .max : entry.demand
        entries[index].innerPool = poolOpened(capacity: capacity, root: resource, owner: claim)
      }
      return (entries[index].innerPool, entry.demand)
    }
    return nil
  }

  /// Adds a pool and returns its index.
  mutating func poolOpened(capacity: Int32, root: Int32, owner: Int32) -> Int32 {
    nextSerial += 1
    return pools.insert(Pool(serial: nextSerial, capacity: capacity, root: root, owner: owner, free: capacity))
  }

  /// Calls `body` with the index of each entry of a claim. `body` can remove the entry.
  mutating func forEachEntry(of claim: Int32, _ body: (inout ClaimTable, Int32) -> Void) {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let sibling = entries[index].sibling
      body(&self, index)
      index = sibling
    }
  }

  /// Returns whether all entries of a claim satisfy a predicate.
  func allEntries(of claim: Int32, _ predicate: (Entry) -> Bool) -> Bool {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let entry = entries[index]
      guard predicate(entry) else { return false }
      index = entry.sibling
    }
    return true
  }

  /// Returns the entries of a list, in order. By default, the list is the line or the holders of a pool.
  func list(from first: Int32, _ next: KeyPath<Entry, Int32> = \.next) -> [Entry] {
    var (list, index): ([Entry], Int32) = ([], first)
    while index >= 0 {
      list.append(entries[index])
      index = entries[index][keyPath: next]
    }
    return list
  }

  func runs(from first: Int32) -> [RunNumber] { list(from: first).map { claims[$0.claim].run } }

  /// Inserts an entry into the line or the holders of its pool, before `next` or at the end.
  mutating func link(_ index: Int32, before next: Int32 = -1) {
    let (pool, isWaiting) = (entries[index].pool, claims[entries[index].claim].phase == .waiting)
    let previous = next < 0 ? pools[pool][isWaiting].last : entries[next].previous
    (entries[index].previous, entries[index].next) = (previous, next)
    if previous >= 0 { entries[previous].next = index } else { pools[pool][isWaiting].first = index }
    if next >= 0 { entries[next].previous = index } else { pools[pool][isWaiting].last = index }
  }

  /// Removes an entry from the line or the holders of its pool.
  mutating func unlink(_ index: Int32) {
    let (pool, isWaiting) = (entries[index].pool, claims[entries[index].claim].phase == .waiting)
    let (previous, next) = (entries[index].previous, entries[index].next)
    if previous >= 0 { entries[previous].next = next } else { pools[pool][isWaiting].first = next }
    if next >= 0 { entries[next].previous = previous } else { pools[pool][isWaiting].last = previous }
  }
}

/// Functions that report what blocks a waiting run, for snapshots and deadlock searches.
extension ClaimTable {
  /// Returns the runs that block a waiting run in each pool, starting with the root pool. The result is empty if the run is not waiting.
  ///
  /// - Complexity: O(h + w) for h holders in the pools, and w earlier waiting runs in the pools that have enough free units.
  func blockers(of run: RunNumber) -> [Blocker] {
    guard isWaiting(run), let claim = numbers[run] else { return [] }
    var blockers: [Blocker] = []
    for entry in list(from: claims[claim].firstEntry, \.sibling) {
      let (pool, resource) = (pools[entry.pool], resource(of: entry.pool))
      if entry.units > pool.free {
        let holders = runs(from: pool.holders.first).filter { !claims[claim].ancestors.contains($0) }
        blockers.append(Blocker(resource: resource, runs: holders, areAheadInLine: false))
      } else if entry.previous >= 0 {
        let earlier = runs(from: pool.line.first).prefix { $0 != run }
        blockers.append(Blocker(resource: resource, runs: Array(earlier), areAheadInLine: true))
      }
    }
    return blockers
  }

  /// Adds the waits of a run's claim to `graph`, and appends to `reached` the runs that must be added next.
  ///
  /// - Complexity: O(h + w) for h holders and w waiting runs in the pools that the graph does not yet contain.
  func addWaits(
    of run: RunNumber, to graph: inout WaitForGraph, in table: ObjectIdentifier? = nil, reached: inout [RunNumber]
  ) {
    guard let claim = numbers[run] else { return }
    for entry in list(from: claims[claim].firstEntry, \.sibling) {
      // A holder finishes only after the runs inside it finish.
      guard claims[claim].phase == .waiting else {
        guard entry.innerPool >= 0 else { continue }
        let inner = pools[entry.innerPool]
        let inside = runs(from: inner.holders.first) + runs(from: inner.line.first)
        graph.add(run, waitsFor: inside)
        reached += inside
        continue
      }
      let pool = pools[entry.pool]
      graph.add(run, waitsFor: pool.serial, in: table, units: entry.units, inside: claims[claim].ancestors)
      guard !graph.contains(pool: pool.serial, in: table) else { continue }
      let (holders, line) = (list(from: pool.holders.first), runs(from: pool.line.first))
      graph.add(
        pool: pool.serial, in: table, of: resource(of: entry.pool), free: pool.free,
        holders: holders.map { (claims[$0.claim].run, $0.units) }, line: line)
      reached += holders.map { claims[$0.claim].run } + line
      // The table keeps no reference to an ended run, but keeps the run's units for the runs inside it, so the waits of those runs are
      // added here.
      for holder in holders where claims[holder.claim].phase == .ended {
        addWaits(of: claims[holder.claim].run, to: &graph, in: table, reached: &reached)
      }
    }
  }
}
