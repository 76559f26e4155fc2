/// Internal. Grants requests, and keeps the entries of claims in the lists of their pools.
extension ClaimTable {
  // MARK: Granting

  /// Grants the requests that are first in all their lines and fit. Which ones does not depend on the order of the pools.
  mutating func serve(_ granted: inout [RunNumber]) {
    let start = granted.count
    while let pool = poolsToServe.popLast() {
      while pools[pool].line.first >= 0, canGo(entries[pools[pool].line.first].claim) {
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
    guard granted.count - start > 1 else { return }
    granted[start...].sort { order(of: $0) < order(of: $1) }
  }

  func order(of run: RunNumber) -> UInt64 { numbers[run].map { claims[$0].order } ?? 0 }

  func canGo(_ claim: Int32) -> Bool {
    allEntries(of: claim) { $0.previous < 0 && $0.units <= pools[$0.pool].free }
  }

  mutating func take(_ claim: Int32) {
    claims[claim].phase = .granted
    forEachEntry(of: claim) { table, entry in
      table.pools[table.entries[entry].pool].free -= table.entries[entry].units
      table.link(entry)
    }
    if !claims[claim].parts.isEmpty { split(claim) }
  }

  /// Replaces the claim of several levels by a claim of each level, which hold the same units together.
  private mutating func split(_ claim: Int32) {
    let merged = claims[claim]
    claims[claim].parts = []
    numbers[merged.run] = nil
    var ancestors = merged.ancestors
    for part in merged.parts {
      // Another part of the body has retaken the level in the meantime.
      guard numbers[part.run] == nil else {
        ancestors.insert(part.run, at: 0)
        continue
      }
      let own = claims.insert(
        Claim(run: part.run, order: nextOrder, ancestors: ancestors, priority: merged.priority))
      nextOrder += 1
      numbers[part.run] = own
      for demand in part.demands { addEntries(for: demand, of: own) }
      // The units are those of the merged claim, which is removed last, so that `free` may be negative until then.
      take(own)
      ancestors.insert(part.run, at: 0)
    }
    let own = numbers[merged.run]
    var vacated: [ResourceNumber] = []
    remove(claim, &vacated)
    precondition(vacated.isEmpty, "\(#function): the levels hold less than their claim")
    numbers[merged.run] = own
  }

  /// Removes a claim, and then its owners that have ended and hold for no other claim any more.
  mutating func remove(_ claim: Int32, _ vacated: inout [ResourceNumber]) {
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

  mutating func releaseMemory() {
    guard numbers.isEmpty else { return }
    if claims.releaseMemory() {
      entries.removeAll()
      (numbers, poolsToServe) = ([:], [])
    }
    _ = pools.releaseMemory()
  }

  // MARK: Entries

  func holding(_ ancestors: [RunNumber]) -> [RunNumber] {
    var isInside = false
    return ancestors.filter { ancestor in
      guard let claim = numbers[ancestor], claims[claim].phase != .waiting else { return false }
      if claims[claim].phase == .granted { isInside = true }
      return isInside
    }
  }

  /// Finds the pools of a demand: the inner pools of the ancestors, nearest first, and the root pool for the rest.
  mutating func addEntries(for demand: ClaimDemand, of claim: Int32) {
    precondition(demand.units > 0, "\(#function): \(demand)")
    /// The units that an ancestor passed so far has taken from further out already.
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

  mutating func addEntry(of claim: Int32, in pool: Int32, _ units: Int32, _ demand: Int32) {
    let sibling = claims[claim].firstEntry
    claims[claim].firstEntry = entries.insert(
      Entry(claim: claim, pool: pool, units: units, demand: demand, sibling: sibling))
    pools[pool].entryCount += 1
  }

  /// Returns the inner pool of what a claim holds of a resource, and the units held; opens the pool when first needed.
  mutating func innerPool(of claim: Int32, _ resource: Int32) -> (number: Int32, held: Int32)? {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let entry = entries[index]
      let root = pools[entry.pool].root
      guard (root < 0 ? entry.pool : root) == resource else {
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

  mutating func poolOpened(capacity: Int32, root: Int32, owner: Int32) -> Int32 {
    nextSerial += 1
    return pools.insert(Pool(serial: nextSerial, capacity: capacity, root: root, owner: owner, free: capacity))
  }

  mutating func forEachEntry(of claim: Int32, _ body: (inout ClaimTable, Int32) -> Void) {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let sibling = entries[index].sibling
      body(&self, index)
      index = sibling
    }
  }

  func allEntries(of claim: Int32, _ predicate: (Entry) -> Bool) -> Bool {
    var index = claims[claim].firstEntry
    while index >= 0 {
      let entry = entries[index]
      guard predicate(entry) else { return false }
      index = entry.sibling
    }
    return true
  }

  func list(from first: Int32) -> [Entry] {
    var (list, index): ([Entry], Int32) = ([], first)
    while index >= 0 {
      list.append(entries[index])
      index = entries[index].next
    }
    return list
  }

  func runs(from first: Int32) -> [RunNumber] { list(from: first).map { claims[$0.claim].run } }

  /// Puts an entry into the line of its pool, or among the holders, before `next` or at the end.
  mutating func link(_ index: Int32, before next: Int32 = -1) {
    let (pool, isWaiting) = (entries[index].pool, claims[entries[index].claim].phase == .waiting)
    let previous = next < 0 ? pools[pool][isWaiting].last : entries[next].previous
    (entries[index].previous, entries[index].next) = (previous, next)
    if previous >= 0 { entries[previous].next = index } else { pools[pool][isWaiting].first = index }
    if next >= 0 { entries[next].previous = index } else { pools[pool][isWaiting].last = index }
  }

  mutating func unlink(_ index: Int32) {
    let (pool, isWaiting) = (entries[index].pool, claims[entries[index].claim].phase == .waiting)
    let (previous, next) = (entries[index].previous, entries[index].next)
    if previous >= 0 { entries[previous].next = next } else { pools[pool][isWaiting].first = next }
    if next >= 0 { entries[next].previous = previous } else { pools[pool][isWaiting].last = previous }
  }
}
