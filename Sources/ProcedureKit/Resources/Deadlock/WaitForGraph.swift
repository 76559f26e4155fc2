/// Internal. Finds deadlocks among runs that wait for claims and for each other (R4): a snapshot, filled and then asked.
///
/// A run that the graph does not know to wait can go on and finish. A run that waits finishes when all runs for which it waits
/// have finished, one of each set of alternatives has, and all units that it needs are free. A run that finishes gives back its units. The runs that are left when
/// no more can finish are in a deadlock, or wait for one.
struct WaitForGraph {
  /// One part of a wait cycle: `run` waits for `resource`, which `blocker` holds, or (`nil`) for the end of `blocker`.
  struct Link: Equatable {
    let run: RunNumber
    let resource: ResourceNumber?
    let blocker: RunNumber
  }

  /// A run that has to go before others in the lines where these stand directly before it; see ``ClaimTable/overtook(_:_:_:)``.
  struct Overtaking: Equatable {
    let run: RunNumber
    let delayed: Set<RunNumber>
  }

  /// A pool of a table.
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
  /// Sets of runs; of each set one has to be able to go on.
  var alternatives: [RunNumber: [Set<RunNumber>]] = [:]
  var needs: [RunNumber: [Need]] = [:]
  var pools: [PoolKey: Pool] = [:]

  // MARK: The snapshot

  /// A run waits for the end of all of `runs`.
  mutating func add(_ run: RunNumber, waitsFor runs: [RunNumber]) { awaited[run, default: []].formUnion(runs) }

  /// A run waits until one of `runs` can go on; not at all if there are none.
  mutating func add(_ run: RunNumber, waitsForOneOf runs: [RunNumber]) {
    if !runs.isEmpty { alternatives[run, default: []].append(Set(runs)) }
  }

  /// A parent cannot finish before a run inside of it has.
  mutating func add(_ run: RunNumber, inside parent: RunNumber) { add(parent, waitsFor: [run]) }

  /// A run waits for units of a pool; units of its ancestors are not in its way.
  mutating func add(
    _ run: RunNumber, waitsFor pool: UInt64, in table: ObjectIdentifier? = nil, units: Int32,
    inside ancestors: [RunNumber] = []
  ) {
    needs[run, default: []].append(Need(pool: PoolKey(table: table, serial: pool), units: units, ancestors: ancestors))
  }

  /// The state of a pool: its free units, its holders, and the runs in its line, the first in front.
  mutating func add(
    pool: UInt64, in table: ObjectIdentifier? = nil, of resource: ResourceNumber, free: Int32,
    holders: [(run: RunNumber, units: Int32)], line: [RunNumber] = []
  ) {
    pools[PoolKey(table: table, serial: pool)] = Pool(resource: resource, free: free, holders: holders, line: line)
  }

  func contains(pool: UInt64, in table: ObjectIdentifier? = nil) -> Bool {
    pools[PoolKey(table: table, serial: pool)] != nil
  }

  // MARK: The answers

  /// Returns a wait cycle because of which a run can never go on, in whatever order units are granted; `nil` if the run can go on.
  ///
  /// The cycle is the shortest one through the run. If the run only waits for a deadlock of others, the cycle is one of these: their own search
  /// may not be done, and the order of lines is decided only when no deadlock is left.
  ///
  /// - Complexity: O(e log e) for e waits and holders in the graph; a cycle costs O(w · h) for w waits in pools of h holders.
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

  /// Returns the links by which stuck runs are reached first from a run, by the runs that are reached.
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

  private static func cycle(through run: RunNumber, _ links: [RunNumber: Link]) -> [Link]? {
    guard var link = links[run] else { return nil }
    var cycle = [link]
    while link.run != run, let previous = links[link.run] {
      link = previous
      cycle.append(link)
    }
    return cycle.reversed()
  }

  /// Returns the runs that have to overtake, one after another, so that a run can go on which is stuck only because of the
  /// order of lines; empty if the order is not in its way. To be asked if there is no deadlock.
  ///
  /// Only a run for which a stuck run waits overtakes, and only stuck runs: these wait for that run, so nobody starves.
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
