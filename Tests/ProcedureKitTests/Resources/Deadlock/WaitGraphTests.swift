import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

private let all = Int32.max

/// As `#expect`, for an event of a value.
private func confirm(_ isTrue: Bool, at location: SourceLocation = #_sourceLocation) {
  #expect(isTrue, sourceLocation: location)
}

@Suite struct WaitGraphTests {
  @Test("Two holders whose children need each other's resource form a cycle, but one alone does not")
  func cycleOfTwo() {
    var graph = WaitForGraph()
    graph.add(pool: 0, of: 0, free: 0, holders: [(1, all)], line: [4])
    graph.add(pool: 1, of: 1, free: 0, holders: [(2, all)], line: [3])
    graph.add(1, waitsFor: [3])
    graph.add(3, waitsFor: 1, units: all, inside: [1])
    #expect(graph.deadlock(from: 3) == nil)
    graph.add(2, waitsFor: [4])
    graph.add(4, waitsFor: 0, units: all, inside: [2])
    #expect(
      graph.deadlock(from: 4) == [
        .init(run: 4, resource: 0, blocker: 1), .init(run: 1, resource: nil, blocker: 3),
        .init(run: 3, resource: 1, blocker: 2), .init(run: 2, resource: nil, blocker: 4),
      ])
  }

  @Test("A holder that waits for a run that needs its resource forms a cycle, unless other units are free")
  func holderThatWaits() {
    for other in [RunNumber(8), 1] {
      var graph = WaitForGraph()
      graph.add(pool: 0, of: 7, free: 0, holders: [(1, 1), (other, 2)], line: [2])
      graph.add(2, waitsFor: 0, units: 2)
      graph.add(1, waitsFor: [2])
      let cycle: [WaitForGraph.Link] = [
        .init(run: 1, resource: nil, blocker: 2), .init(run: 2, resource: 7, blocker: 1),
      ]
      #expect(graph.deadlock(from: 1) == (other == 1 ? cycle : nil))
    }
  }

  @Test("A run that waits for one of several runs is in a cycle only if none of them can continue")
  func alternatives() {
    for isFree in [false, true] {
      var graph = WaitForGraph()
      graph.add(pool: 0, of: 0, free: 0, holders: [(1, all)], line: [2])
      graph.add(2, waitsFor: 0, units: all)
      graph.add(pool: 1, of: 1, free: 0, holders: [(isFree ? 4 : 1, all)], line: [3])
      graph.add(3, waitsFor: 1, units: all)
      graph.add(1, waitsForOneOf: [2, 3])
      #expect((graph.deadlock(from: 1) == nil) == isFree)
      #expect((graph.deadlock(from: 3) == nil) == isFree)
    }
  }

  @Test("A run within a holder overtakes only the runs that wait for the holder")
  func overtaking() {
    var (table, granted, vacated): (ClaimTable, [RunNumber], [ResourceNumber]) = (ClaimTable(), [], [])
    let (x, y) = (table.resourceOpened(capacity: all), table.resourceOpened(capacity: all))
    confirm(table.requested(1, [.init(resource: x, units: all)]))
    confirm(table.requested(2, [.init(resource: y, units: all)]))
    confirm(!table.requested(3, [.init(resource: y, units: all)]))
    confirm(!table.requested(4, [.init(resource: x, units: all), .init(resource: y, units: all)]))
    confirm(!table.requested(5, [.init(resource: y, units: all)], inside: [1]))
    let graph = graph(of: table, from: 5, needing: [1: [5]])
    #expect(graph.deadlock(from: 5) == nil)
    #expect(graph.overtakings(for: 5) == [.init(run: 5, delayed: [4, 1])])
    table.overtook(5, [1, 4], &granted)
    for run in [2, 3, 5] as [RunNumber] { table.ended(run, &granted, vacated: &vacated) }
    #expect(granted == [3, 5])
    table.ended(1, &granted, vacated: &vacated)
    #expect(granted == [3, 5, 4])
  }

  @Test("A run that waits for other runs in a deadlock finds the deadlock")
  func deadlockOfOthers() {
    var graph = WaitForGraph()
    graph.add(pool: 0, of: 7, free: 0, holders: [(1, all)], line: [2, 3])
    graph.add(2, waitsFor: 0, units: all)
    graph.add(3, waitsFor: 0, units: all)
    #expect(graph.deadlock(from: 3) == nil)
    graph.add(1, waitsFor: [2])
    #expect(
      graph.deadlock(from: 3) == [.init(run: 1, resource: nil, blocker: 2), .init(run: 2, resource: 7, blocker: 1)])
  }

  @Test(
    "In random graphs, the runs that remain after a naive reduction are in a deadlock", arguments: UInt64(0)..<500)
  func random(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (graph, waits, needs): (WaitForGraph, [RunNumber: [RunNumber]], [RunNumber: (pool: Int32, units: Int32)])
    (graph, waits, needs) = (WaitForGraph(), [:], [:])
    var held: [[(run: RunNumber, units: Int32)]] = []
    for pool in 0..<3 {
      held.append((0..<random.below(4)).map { _ in (RunNumber(1 + random.below(8)), Int32(1 + random.below(3))) })
      graph.add(pool: UInt64(pool), of: Int32(pool), free: 1, holders: held[pool])
    }
    for run in RunNumber(1)...8 where random.chance(percent: 70) {
      if random.chance(percent: 50) {
        waits[run] = (0...random.below(2)).map { _ in RunNumber(1 + random.below(8)) }.filter { $0 != run }
        graph.add(run, waitsFor: waits[run] ?? [])
      } else {
        let pool = Int32(random.below(3))
        needs[run] = (pool, 1 + Int32(random.below(1 + held[Int(pool)].reduce(0) { $0 + Int($1.units) })))
        graph.add(run, waitsFor: UInt64(pool), units: needs[run]?.units ?? 0)
      }
    }
    var left = Set(RunNumber(1)...8)
    while let next = left.first(where: { run in
      (waits[run] ?? []).allSatisfy { !left.contains($0) }
        && (needs[run].map { need in
          1 + held[Int(need.pool)].filter { !left.contains($0.run) }.reduce(0) { $0 + $1.units } >= need.units
        } ?? true)
    }) { left.remove(next) }
    for run in RunNumber(1)...8 {
      guard let cycle = graph.deadlock(from: run) else { continue }
      #expect(left.contains(run) && cycle.first?.run == cycle.last?.blocker, "seed \(seed)")
      #expect(cycle.allSatisfy { left.contains($0.run) }, "seed \(seed)")
      #expect(zip(cycle, cycle.dropFirst()).allSatisfy { $0.blocker == $1.run }, "seed \(seed)")
    }
    #expect(left.isEmpty || left.contains { graph.deadlock(from: $0) != nil }, "seed \(seed)")
  }

  @Test(
    "Every waiting claim is eventually granted, even after refusals and overtaking",
    arguments: 0..<UInt64(TestDepth.isAtLeastGate ? 400 : 80))
  func randomTables(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (table, parents, granted): (ClaimTable, [RunNumber: RunNumber], [RunNumber]) = (ClaimTable(), [:], [])
    var vacated: [ResourceNumber] = []
    let resources = [all, all, 3].map { table.resourceOpened(capacity: $0) }
    for run in RunNumber(1)...14 {
      let parent = (1..<run).filter(table.isGranted).randomElement(using: &random)
      var chain: [RunNumber] = []
      if random.chance(percent: 60), let parent { parents[run] = parent }
      while let next = parents[chain.last ?? run] { chain.append(next) }
      let demands = Set([random.below(3), random.below(3)]).sorted().map { index in
        ClaimDemand(resource: resources[index], units: index == 2 ? 2 : random.pick(from: [1, all]))
      }
      guard !table.requested(run, demands, inside: chain) else { continue }
      let needed = Dictionary(grouping: parents.keys, by: { parents[$0] ?? 0 })
      let graph = graph(of: table, from: run, needing: needed)
      if graph.deadlock(from: run) != nil {
        table.ended(run, &granted, vacated: &vacated)
        parents[run] = nil
      } else {
        for overtaking in graph.overtakings(for: run) {
          table.overtook(overtaking.run, overtaking.delayed, &granted)
        }
      }
      table.checkInvariants()
    }
    // Each run ends when all runs within it have ended.
    while let run = (1...14).first(where: { run in table.isGranted(run) && !parents.values.contains(run) }) {
      table.ended(run, &granted, vacated: &vacated)
      parents[run] = nil
    }
    #expect(!(1...14).contains { table.isWaiting($0) || table.isGranted($0) }, "seed \(seed)")
  }

  private func graph(of table: ClaimTable, from run: RunNumber, needing: [RunNumber: [RunNumber]]) -> WaitForGraph {
    var (graph, visited, pending): (WaitForGraph, Set<RunNumber>, [RunNumber]) = (WaitForGraph(), [], [run])
    while let next = pending.popLast() {
      guard visited.insert(next).inserted else { continue }
      table.addWaits(of: next, to: &graph, reached: &pending)
      if let runs = needing[next] { graph.add(next, waitsFor: runs) }
      pending += needing[next] ?? []
    }
    return graph
  }
}
