/// Determines which runs in a graph can finish.
extension WaitForGraph {
  /// A reduction of a graph. It finishes runs one after another until no more runs can finish (R4).
  ///
  /// If `keepsOrder` is `true`, only the first run in a line receives free units.
  struct Reduction {
    private struct Line {
      var needs: [(run: RunNumber, units: Int32)]
      var next = 0
      /// Whether the first stuck run has received its units. Used only if `keepsOrder` is `true`.
      var isFirstMet = false
    }

    private let graph: WaitForGraph
    private let keepsOrder: Bool
    private(set) var stuck: Set<RunNumber>
    private(set) var free: [PoolKey: Int32] = [:]
    /// The number of unfinished waits of each stuck run.
    private var missing: [RunNumber: Int] = [:]
    private var awaiters: [RunNumber: [RunNumber]] = [:]
    /// For each set of alternatives, keyed by its number, the run that is waiting for one of the runs in the set.
    private var choosers: [Int: RunNumber] = [:]
    /// For each run, the numbers of the sets of alternatives that contain the run.
    private var choices: [RunNumber: [Int]] = [:]
    private var held: [RunNumber: [(pool: PoolKey, units: Int32)]] = [:]
    private var lines: [PoolKey: Line] = [:]
    private var ready: [RunNumber] = []

    init(of graph: WaitForGraph, keepsOrder: Bool) {
      (self.graph, self.keepsOrder) = (graph, keepsOrder)
      stuck = Set(graph.awaited.keys).union(graph.needs.keys).union(graph.alternatives.keys)
      for (run, others) in graph.awaited {
        for other in others where stuck.contains(other) {
          missing[run, default: 0] += 1
          awaiters[other, default: []].append(run)
        }
      }
      for (run, sets) in graph.alternatives {
        for runs in sets where runs.isSubset(of: stuck) {
          missing[run, default: 0] += 1
          let set = choosers.count
          choosers[set] = run
          for other in runs { choices[other, default: []].append(set) }
        }
      }
      for (run, needs) in graph.needs {
        for need in needs where graph.pools[need.pool] != nil {
          missing[run, default: 0] += 1
          lines[need.pool, default: Line(needs: [])].needs.append((run, need.units))
        }
      }
      for (number, pool) in graph.pools {
        free[number] = pool.free
        for holder in pool.holders {
          if stuck.contains(holder.run) {
            held[holder.run, default: []].append((number, holder.units))
          } else {
            free[number, default: 0] += holder.units
          }
        }
        sort(number, pool.line)
      }
      ready = stuck.filter { missing[$0] == nil }
      for pool in graph.pools.keys { advance(pool) }
      finishAll()
    }

    /// Returns whether another run is waiting for the given run to finish.
    func isAwaited(_ run: RunNumber) -> Bool {
      !(awaiters[run] ?? []).isEmpty || (choices[run] ?? []).contains { choosers[$0] != nil }
    }

    /// Returns whether a run could finish at this point if it were first in all of its lines.
    func suffices(for run: RunNumber) -> Bool {
      stuck.isDisjoint(with: graph.awaited[run] ?? [])
        && !(graph.alternatives[run] ?? []).contains { $0.isSubset(of: stuck) }
        && (graph.needs[run] ?? []).allSatisfy { $0.units <= free[$0.pool] ?? .max }
    }

    /// Finishes all runs that can finish.
    mutating func finishAll() {
      while let run = ready.popLast() { finish(run) }
    }

    /// Finishes a run, which ends the waits for it and releases its units.
    mutating func finish(_ run: RunNumber) {
      guard stuck.remove(run) != nil else { return }
      for awaiter in awaiters[run] ?? [] { meet(awaiter) }
      for set in choices[run] ?? [] {
        if let chooser = choosers.removeValue(forKey: set) { meet(chooser) }
      }
      for (pool, units) in held[run] ?? [] {
        free[pool, default: 0] += units
        advance(pool)
      }
      for need in graph.needs[run] ?? [] { advance(need.pool) }
    }

    /// Sorts the waits for a pool: in the order of the line if `keepsOrder` is `true`; otherwise by the number of units, fewest first.
    private mutating func sort(_ pool: PoolKey, _ order: [RunNumber]) {
      guard keepsOrder else { return lines[pool]?.needs.sort { $0.units < $1.units } ?? () }
      let positions = Dictionary(zip(order, order.indices)) { first, _ in first }
      lines[pool]?.needs.sort { positions[$0.run] ?? .max < positions[$1.run] ?? .max }
    }

    /// Records that one of a run's waits ended.
    private mutating func meet(_ run: RunNumber) {
      missing[run, default: 0] -= 1
      if missing[run] == 0 { ready.append(run) }
    }

    /// Ends the waits of the next runs in line as long as the pool has enough free units.
    private mutating func advance(_ pool: PoolKey) {
      guard var line = lines[pool].take() else { return }
      while line.next < line.needs.count {
        let (run, units) = line.needs[line.next]
        if stuck.contains(run) {
          guard units <= free[pool] ?? 0, !line.isFirstMet else { break }
          meet(run)
          line.isFirstMet = keepsOrder
          if keepsOrder { break }
        } else {
          line.isFirstMet = false
        }
        line.next += 1
      }
      lines[pool] = line
    }
  }
}
