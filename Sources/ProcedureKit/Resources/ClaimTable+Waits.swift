/// Internal. The waits of runs, and the invariants of the table.
extension ClaimTable {
  /// Returns what a waiting run waits for, pool by pool, the root pool first; nothing for other runs.
  ///
  /// - Complexity: O(h + w) for h holders of the pools, and w earlier waiters of those pools in which they alone block.
  func blockers(of run: RunNumber) -> [Blocker] {
    guard isWaiting(run), let claim = numbers[run] else { return [] }
    var blockers: [Blocker] = []
    _ = allEntries(of: claim) { entry in
      let pool = pools[entry.pool]
      let resource = pool.root < 0 ? entry.pool : pool.root
      if entry.units > pool.free {
        let holders = runs(from: pool.holders.first).filter { !claims[claim].ancestors.contains($0) }
        blockers.append(Blocker(resource: resource, holders: holders, earlierWaiters: []))
      } else if entry.previous >= 0 {
        let earlier = runs(from: pool.line.first).prefix { $0 != run }
        blockers.append(Blocker(resource: resource, holders: [], earlierWaiters: Array(earlier)))
      }
      return true
    }
    return blockers
  }

  /// Adds to `graph` what the claim of a run waits for, and to `reached` the runs that have to be added next.
  ///
  /// - Complexity: O(h + w) for the h holders and w waiters of those pools that the graph does not have yet.
  func addWaits(
    of run: RunNumber, to graph: inout WaitGraph, in table: ObjectIdentifier? = nil, reached: inout [RunNumber]
  ) {
    guard let claim = numbers[run] else { return }
    _ = allEntries(of: claim) { entry in
      guard claims[claim].phase == .waiting else {
        guard entry.innerPool >= 0 else { return true }
        let inner = pools[entry.innerPool]
        let inside = runs(from: inner.holders.first) + runs(from: inner.line.first)
        graph.add(run, waitsFor: inside)
        reached += inside
        return true
      }
      let pool = pools[entry.pool]
      graph.add(run, waitsFor: pool.serial, in: table, units: entry.units, inside: claims[claim].ancestors)
      guard !graph.contains(pool: pool.serial, in: table) else { return true }
      let (holders, line) = (list(from: pool.holders.first), runs(from: pool.line.first))
      graph.add(
        pool: pool.serial, in: table, of: pool.root < 0 ? entry.pool : pool.root, free: pool.free,
        holders: holders.map { (claims[$0.claim].run, $0.units) }, line: line)
      reached += holders.map { claims[$0.claim].run } + line
      return true
    }
  }

  /// Traps where claims, entries and pools contradict each other; for tests.
  ///
  /// - Complexity: O(n) for n entries, and O(n) more for each entry that shares a line.
  func checkInvariants() {
    var used: [Int32: Int32] = [:]
    var counts: [Int32: Int32] = [:]
    var (nested, waiting): ([Int32: Int32], [Int32: [Int32]]) = ([:], [:])
    for (run, claim) in numbers {
      precondition(claims[claim].run == run && (claims[claim].phase != .ended || claims[claim].nestedEntries > 0))
      _ = allEntries(of: claim) { entry in
        precondition(entry.claim == claim && entry.units > 0)
        if claims[claim].phase == .waiting {
          waiting[entry.pool, default: []].append(claim)
        } else {
          used[entry.pool, default: 0] += entry.units
        }
        counts[entry.pool, default: 0] += 1
        nested[pools[entry.pool].owner, default: 0] += 1
        return true
      }
      precondition(claims[claim].phase != .waiting || !canGo(claim), "run \(run) waits and could be granted")
    }
    precondition(claims.count == numbers.count && entries.count == counts.values.reduce(0, { $0 + Int($1) }))
    for claim in numbers.values { precondition(claims[claim].nestedEntries == nested[claim] ?? 0) }
    for (number, count) in counts {
      let pool = pools[number]
      precondition(pool.entryCount == count && pool.free == pool.capacity - (used[number] ?? 0))
      precondition(list(from: pool.line.first).map(\.claim).sorted() == (waiting[number] ?? []).sorted())
      precondition(list(from: pool.holders.first).count == Int(count) - (waiting[number]?.count ?? 0))
    }
    precondition(poolsToServe.isEmpty, "a pool has not been served")
  }
}
