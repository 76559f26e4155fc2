/// A snapshot of the runs that are waiting for claims and for each other, used to find deadlocks (R4).
///
/// A run that has no waits in the graph can finish. A waiting run can finish when all the runs that it is waiting for, and one run in each
/// of its sets of alternatives, have finished. All the units that it needs must also be free. A finished run releases its units. The runs
/// that cannot finish are in a deadlock, or are waiting for runs in a deadlock.
struct WaitForGraph {
  /// A wait in a cycle: `run` is waiting for `resource`, which `blocker` holds. If `resource` is `nil`, `run` is waiting for `blocker` to
  /// end.
  struct Link: Hashable {
    let run: RunNumber
    var resource: ResourceNumber?
    let blocker: RunNumber
  }

  /// A run that must overtake the runs in `delayed` that are directly ahead of it in its lines; see ``ClaimTable/overtook(_:_:_:)``.
  struct Overtaking: Equatable {
    let run: RunNumber
    let delayed: Set<RunNumber>
  }

  /// A key that identifies a pool across tables.
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
  /// For each run, the sets of alternatives: before the run can continue, one run in each set must finish.
  var alternatives: [RunNumber: [Set<RunNumber>]] = [:]
  var needs: [RunNumber: [Need]] = [:]
  var pools: [PoolKey: Pool] = [:]

  // MARK: The snapshot

  /// Adds a run that is waiting for all of `runs` to finish.
  mutating func add(_ run: RunNumber, waitsFor runs: [RunNumber]) { awaited[run, default: []].formUnion(runs) }

  /// Adds a run that is waiting for one of `runs` to finish. Adds no wait if `runs` is empty.
  mutating func add(_ run: RunNumber, waitsForOneOf runs: [RunNumber]) {
    if !runs.isEmpty { alternatives[run, default: []].append(Set(runs)) }
  }

  /// Adds a run that is waiting for units of a pool. A run's ancestors do not block it.
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

  /// Returns a wait cycle that blocks a run forever, regardless of the order in which claims are granted; `nil` if the run can continue.
  ///
  /// The result is the shortest cycle through the run. If the run itself is not in a cycle but is waiting for deadlocked runs, the result
  /// is the cycle of the deadlocked runs. That deadlock must be resolved first: a run may overtake the runs ahead of it in line only if no
  /// deadlock is left.
  ///
  /// - Complexity: O(e log e) for e waits and holders in the graph, plus O(w · h) to find a cycle among w waits in pools with h holders.
  func deadlock(from run: RunNumber) -> [Link]? {
    let reduction = Reduction(of: self, keepsOrder: false)
    guard reduction.stuck.contains(run) else { return nil }
    let links = stuckLinks(around: run, reduction)
    if let cycle = Self.cycle(through: run, links) { return cycle }
    return links.keys.sorted().lazy.compactMap { Self.cycle(through: $0, stuckLinks(around: $0, reduction)) }.first
  }

  /// Searches breadth-first for stuck runs, starting at a run. Returns, for each stuck run, the link through which the search reached it.
  private func stuckLinks(around run: RunNumber, _ reduction: Reduction) -> [RunNumber: Link] {
    var links: [RunNumber: Link] = [:]
    var (reached, index) = ([run], 0)
    while index < reached.count {
      for link in stuckLinks(of: reached[index], reduction) where links[link.blocker] == nil {
        links[link.blocker] = link
        reached.append(link.blocker)
      }
      index += 1
    }
    return links
  }

  /// Returns the cycle through a run; `nil` if there is none. `links` are the links of a search that started at the run.
  private static func cycle(through run: RunNumber, _ links: [RunNumber: Link]) -> [Link]? {
    guard var link = links[run] else { return nil }
    var cycle = [link]
    while link.run != run, let previous = links[link.run] {
      link = previous
      cycle.append(link)
    }
    return cycle.reversed()
  }

  /// Returns the runs that must overtake others so that a run can continue (R4). The runs must overtake in the order of the result.
  ///
  /// The result is empty unless the run is blocked only by the order of the runs in line. This function must be called only when there is
  /// no deadlock. A run overtakes other runs only if a stuck run is waiting for it, and it overtakes only stuck runs. The overtaken runs
  /// depend on the overtaking run, so no run starves.
  ///
  /// - Complexity: O(e log e) for e waits and holders in the graph, plus O(e) for each run that overtakes others.
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

  /// Returns the links from a stuck run to the other stuck runs that it is waiting for.
  private func stuckLinks(of run: RunNumber, _ reduction: Reduction) -> [Link] {
    var links = (awaited[run] ?? []).filter(reduction.stuck.contains).sorted().map {
      Link(run: run, blocker: $0)
    }
    for runs in alternatives[run] ?? [] where runs.isSubset(of: reduction.stuck) {
      links += runs.sorted().map { Link(run: run, blocker: $0) }
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
