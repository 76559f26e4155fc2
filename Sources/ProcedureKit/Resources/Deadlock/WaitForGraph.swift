/// Internal. A snapshot of the waits of runs for claims and for each other, which finds deadlocks (R4).
///
/// A run without a wait in the graph can finish. A waiting run finishes when all runs that it waits for have finished, one run of each set
/// of alternatives has finished, and all units that it needs are free. A finished run releases its units. The runs that cannot finish are
/// in a deadlock, or are waiting for runs that are.
struct WaitForGraph {
  /// One wait of a cycle: `run` waits for `resource`, which `blocker` holds. If `resource` is `nil`, `run` waits for `blocker` to end.
  struct Link: Equatable {
    let run: RunNumber
    let resource: ResourceNumber?
    let blocker: RunNumber
  }

  /// A run that has to overtake the delayed runs directly before it in its lines; see ``ClaimTable/overtook(_:_:_:)``.
  struct Overtaking: Equatable {
    let run: RunNumber
    let delayed: Set<RunNumber>
  }

  /// Identifies a pool in a table.
  struct PoolKey: Hashable {
    let table: ObjectIdentifier?
    let serial: UInt64
  }

  struct Need {
    let pool: PoolKey
    let units: Int32
    let ancestors: [RunNumber]
  }

  struct Pool {
    let resource: ResourceNumber
    let free: Int32
    let holders: [(run: RunNumber, units: Int32)]
    let line: [RunNumber]
  }

  var awaited: [RunNumber: Set<RunNumber>] = [:]
  /// Sets of runs. In each set, one run has to finish.
  var alternatives: [RunNumber: [Set<RunNumber>]] = [:]
  var needs: [RunNumber: [Need]] = [:]
  var pools: [PoolKey: Pool] = [:]

  // MARK: The snapshot

  /// Adds a run that waits until all of `runs` have finished.
  mutating func add(_ run: RunNumber, waitsFor runs: [RunNumber]) { awaited[run, default: []].formUnion(runs) }

  /// Adds a run that waits until one of `runs` can continue. Adds no wait if `runs` is empty.
  mutating func add(_ run: RunNumber, waitsForOneOf runs: [RunNumber]) {
    if !runs.isEmpty { alternatives[run, default: []].append(Set(runs)) }
  }

  /// Adds a run that waits for units of a pool. Its ancestors do not block it.
  mutating func add(
    _ run: RunNumber, waitsFor pool: UInt64, in table: ObjectIdentifier? = nil, units: Int32,
    inside ancestors: [RunNumber] = []
  ) {
    needs[run, default: []].append(Need(pool: PoolKey(table: table, serial: pool), units: units, ancestors: ancestors))
  }

  /// Adds the state of a pool: its free units, its holders, and its waiting runs in order.
  mutating func add(
    pool: UInt64, in table: ObjectIdentifier? = nil, of resource: ResourceNumber, free: Int32,
    holders: [(run: RunNumber, units: Int32)], line: [RunNumber] = []
  ) {
    pools[PoolKey(table: table, serial: pool)] = Pool(resource: resource, free: free, holders: holders, line: line)
  }

  func contains(pool: UInt64, in table: ObjectIdentifier? = nil) -> Bool {
    pools[PoolKey(table: table, serial: pool)] != nil
  }

  // MARK: Queries

  /// Returns a wait cycle that blocks a run forever, whatever the order of grants; `nil` if the run can continue.
  ///
  /// The cycle is the shortest one through the run. If the run is not in a cycle itself but is waiting for runs that are deadlocked, the
  /// cycle is that of the other runs: their own search may not have ended yet, and overtaking is decided only when no deadlock is left.
  ///
  /// - Complexity: O(e log e) for e waits and holders in the graph, and O(w · h) to find a cycle among w waits in pools of h holders.
  func deadlock(from run: RunNumber) -> [Link]? {
    let reduction = Reduction(of: self, keepsOrder: false)
    guard reduction.stuck.contains(run) else { return nil }
    let links = stuckLinks(around: run, reduction)
    if let cycle = Self.cycle(through: run, links) { return cycle }
    for other in links.keys.sorted() {
      guard let cycle = Self.cycle(through: other, stuckLinks(around: other, reduction)) else { continue }
      return cycle
    }
    return nil
  }

  /// Returns the links through which a breadth-first search from a run reaches stuck runs, by the reached runs.
  private func stuckLinks(around run: RunNumber, _ reduction: Reduction) -> [RunNumber: Link] {
    var links: [RunNumber: Link] = [:]
    var front = [run]
    while !front.isEmpty {
      var nextFront: [RunNumber] = []
      for link in front.flatMap({ stuckLinks(of: $0, reduction) }) where links[link.blocker] == nil {
        links[link.blocker] = link
        nextFront.append(link.blocker)
      }
      front = nextFront
    }
    return links
  }

  /// Returns the cycle through a run, from the links of a search that began at the run; `nil` if the search did not return to it.
  private static func cycle(through run: RunNumber, _ links: [RunNumber: Link]) -> [Link]? {
    guard var link = links[run] else { return nil }
    var cycle = [link]
    while link.run != run, let previous = links[link.run] {
      link = previous
      cycle.append(link)
    }
    return cycle.reversed()
  }

  /// Returns the runs that have to overtake others, in sequence, so that a run that is blocked only by the order of lines can continue.
  ///
  /// Empty if the order does not block the run. Called when there is no deadlock. Only a run that a stuck run is waiting for overtakes
  /// others, and it overtakes only stuck runs. These depend on the overtaking run, so no run starves.
  ///
  /// - Complexity: O(e log e) for e waits and holders in the graph, and O(e) for each run that overtakes.
  func overtakings(for run: RunNumber) -> [Overtaking] {
    var reduction = Reduction(of: self, keepsOrder: true)
    var overtakings: [Overtaking] = []
    while reduction.stuck.contains(run) {
      let candidates = reduction.stuck.filter { reduction.isAwaited($0) && reduction.suffices(for: $0) }
      guard let next = candidates.min() else { break }
      reduction.finish(next)
      overtakings.append(Overtaking(run: next, delayed: reduction.stuck))
      reduction.finishAll()
    }
    return overtakings
  }

  /// Returns the waits of a stuck run for other stuck runs.
  private func stuckLinks(of run: RunNumber, _ reduction: Reduction) -> [Link] {
    var links = (awaited[run] ?? []).filter(reduction.stuck.contains).sorted().map {
      Link(run: run, resource: nil, blocker: $0)
    }
    for runs in alternatives[run] ?? [] where runs.isSubset(of: reduction.stuck) {
      links += runs.sorted().map { Link(run: run, resource: nil, blocker: $0) }
    }
    for need in needs[run] ?? [] where need.units > reduction.free[need.pool] ?? 0 {
      for holder in pools[need.pool]?.holders ?? []
      where reduction.stuck.contains(holder.run) && !need.ancestors.contains(holder.run) {
        links.append(Link(run: run, resource: pools[need.pool]?.resource, blocker: holder.run))
      }
    }
    return links
  }
}
