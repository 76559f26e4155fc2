import TestSupport
import Testing
import TestingProcedureKit

@testable import ProcedureKit

private let all = Int32.max

/// As `#expect`, for an event of a value.
private func confirm(_ isTrue: Bool, at location: SourceLocation = #_sourceLocation) {
  #expect(isTrue, sourceLocation: location)
}

@Suite struct ClaimTableTests {
  @Test("Requests for one resource are granted in order, readers together, and no request overtakes a writer")
  func firstComeFirstServed() {
    var (table, vacated): (ClaimTable, [ResourceNumber]) = (ClaimTable(), [])
    let a = table.resourceOpened(capacity: all)
    confirm(table.requested(1, [.init(resource: a, units: 1)]))
    confirm(!table.requested(2, [.init(resource: a, units: all)]))
    confirm(!table.requested(3, [.init(resource: a, units: 1)]))
    confirm(!table.requested(4, [.init(resource: a, units: 1)]))
    #expect(table.blockers(of: 2) == [.init(resource: a, runs: [1], areAheadInLine: false)])
    #expect(table.blockers(of: 3) == [.init(resource: a, runs: [2], areAheadInLine: true)])
    var granted: [RunNumber] = []
    table.ended(1, &granted, vacated: &vacated)
    table.ended(1, &granted, vacated: &vacated)
    #expect(granted == [2])
    table.ended(2, &granted, vacated: &vacated)
    #expect(granted == [2, 3, 4] && vacated == [])
    table.ended(3, &granted, vacated: &vacated)
    table.ended(4, &granted, vacated: &vacated)
    #expect(vacated == [a] && table.isUnused(a))
    table.resourceClosed(a)
    confirm(table.resourceOpened(capacity: 2) == a)
  }

  @Test("A writer within a reader waits for other readers; an outer claim stays until the inner one has ended")
  func nested() {
    var (table, vacated, granted): (ClaimTable, [ResourceNumber], [RunNumber]) = (ClaimTable(), [], [])
    let a = table.resourceOpened(capacity: all)
    confirm(table.requested(1, [.init(resource: a, units: 1)]))
    confirm(table.requested(2, [.init(resource: a, units: 1)]))
    confirm(!table.requested(3, [.init(resource: a, units: all)], inside: [1]))
    #expect(table.blockers(of: 3) == [.init(resource: a, runs: [2], areAheadInLine: false)])
    table.ended(2, &granted, vacated: &vacated)
    #expect(granted == [3])
    confirm(!table.requested(4, [.init(resource: a, units: all)]))
    table.ended(1, &granted, vacated: &vacated)
    table.checkInvariants()
    #expect(granted == [3] && table.isWaiting(4) && !table.isGranted(1))
    table.ended(3, &granted, vacated: &vacated)
    #expect(granted == [3, 4] && vacated == [])
  }

  @Test("Holders and earlier waiters with a lower priority are raised, including those of other resources")
  func raised() {
    var (table, raised): (ClaimTable, [RunNumber]) = (ClaimTable(), [])
    let (a, b) = (table.resourceOpened(capacity: all), table.resourceOpened(capacity: 2))
    confirm(table.requested(1, [.init(resource: a, units: all)], priority: 1))
    confirm(table.requested(2, [.init(resource: b, units: 2)], priority: 2))
    confirm(!table.requested(3, [.init(resource: a, units: all), .init(resource: b, units: 1)], priority: 2))
    table.raised(3, to: 2, &raised)
    #expect(raised == [1])
    confirm(!table.requested(4, [.init(resource: a, units: 1)], priority: 9))
    table.raised(4, to: 9, &raised)
    #expect(raised.count == 4 && Set(raised) == [1, 2, 3])
  }

  @Test(
    "Random requests, ends and changes of capacity agree with a naive model",
    arguments: 0..<UInt64(TestDepth.count(1_000, least: 100)))
  func script(_ seed: UInt64) {
    var script = ClaimScript(seed: seed)
    let isSame = script.run(steps: 60)
    #expect(isSame, "seed \(seed)\n\(script.trace.joined(separator: "\n"))")
  }

  @Test(
    "Very many waiters acquire one resource in turn, or withdraw from the last to the first",
    arguments: [true, false])
  func manyWaiters(_ withdraws: Bool) {
    var (table, vacated, granted): (ClaimTable, [ResourceNumber], [RunNumber]) = (ClaimTable(), [], [])
    let demands = [ClaimDemand(resource: table.resourceOpened(capacity: all), units: all)]
    let count = TestDepth.size(100_000)
    for run in 1...count { confirm(table.requested(RunNumber(run), demands) == (run == 1)) }
    for run in 1...count {
      table.ended(RunNumber(withdraws ? count + 1 - run : run), &granted, vacated: &vacated)
    }
    #expect(granted == (withdraws ? [] : (2...count).map { RunNumber($0) }) && vacated == [demands[0].resource])
    table.checkInvariants()
  }
}

/// A model with the rules of ``ClaimTable`` that searches lists.
struct ClaimModel {
  struct Claim {
    let run: RunNumber
    let demands: [Int: Int32]
    let ancestors: [RunNumber]
    var isWaiting = true
    var hasEnded = false
  }

  struct Part: Hashable {
    let resource: Int
    let owner: RunNumber
  }

  var capacities: [Int32]
  /// The requests, in order.
  var claims: [Claim] = []

  func claim(_ run: RunNumber) -> Claim? { claims.first { $0.run == run } }

  func capacity(of part: Part) -> Int32 {
    if part.owner == 0 || capacities[part.resource] == all { return capacities[part.resource] }
    return claim(part.owner)?.demands[part.resource] ?? 0
  }

  func draws(of claim: Claim) -> [Part: Int32] {
    var draws: [Part: Int32] = [:]
    for (resource, units) in claim.demands {
      var covered: Int32 = 0
      for owner in claim.ancestors + [0] {
        guard owner == 0 || self.claim(owner)?.demands[resource] != nil else { continue }
        let part = Part(resource: resource, owner: owner)
        let taken = owner == 0 ? units - covered : min(units, capacity(of: part)) - min(covered, capacity(of: part))
        if units > covered, taken > 0 { draws[part] = taken }
        covered = max(covered, self.claim(owner)?.demands[resource] ?? 0)
      }
    }
    return draws
  }

  mutating func request(_ run: RunNumber, _ demands: [Int: Int32], inside chain: [RunNumber]) {
    let nearest = chain.firstIndex { claim($0).map { !$0.isWaiting && !$0.hasEnded } ?? false } ?? chain.count
    let ancestors = chain[nearest...].filter { claim($0).map { !$0.isWaiting } ?? false }
    claims.append(Claim(run: run, demands: demands, ancestors: Array(ancestors)))
  }

  mutating func end(_ run: RunNumber) {
    for index in claims.indices where claims[index].run == run { claims[index].hasEnded = true }
    while let index = claims.firstIndex(where: { claim in
      claim.hasEnded && !claims.contains { draws(of: $0).keys.contains { $0.owner == claim.run } }
    }) { claims.remove(at: index) }
  }

  func canBeGranted(_ index: Int) -> Bool {
    draws(of: claims[index]).allSatisfy { part, units in
      let used = claims.filter { !$0.isWaiting }.reduce(0) { $0 + (draws(of: $1)[part] ?? 0) }
      return capacity(of: part) - used >= units
        && !claims[..<index].contains { $0.isWaiting && draws(of: $0)[part] != nil }
    }
  }

  mutating func serve() -> [RunNumber] {
    var granted: Set<RunNumber> = []
    while let index = claims.indices.first(where: { claims[$0].isWaiting && canBeGranted($0) }) {
      claims[index].isWaiting = false
      granted.insert(claims[index].run)
    }
    return claims.map(\.run).filter(granted.contains)
  }
}

/// A random script of requests and ends, for a table and for the model.
struct ClaimScript {
  private var random: SeededGenerator
  private(set) var table = ClaimTable()
  private var model: ClaimModel
  private var open: [Int: ResourceNumber] = [:]
  /// The runs that are not known to have ended, with their ancestors.
  private(set) var chains: [RunNumber: [RunNumber]] = [:]
  private var nextRun: RunNumber = 1
  private(set) var trace: [String] = []

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    model = ClaimModel(capacities: random.pick(from: [[all, all, 3], [all, 2, 4], [5, 3, 4]]))
  }

  /// Returns whether the table agrees with the model.
  mutating func run(steps: Int) -> Bool {
    for _ in 0..<steps {
      if random.chance(percent: 15) {
        guard changeCapacity() else { return false }
      }
      guard chains.count < 9 && random.chance(percent: 60) ? request() : end() else { return false }
    }
    while !chains.isEmpty { guard end() else { return false } }
    return open.isEmpty && model.claims.isEmpty
  }

  mutating func request() -> Bool {
    let run = nextRun
    nextRun += 1
    var chain: [RunNumber] = []
    if random.chance(percent: 60),
      let parent = chains.keys.sorted().filter(table.isGranted).randomElement(using: &random)
    {
      chain = [parent] + (chains[parent] ?? [])
    }
    // If the ancestor has ended, or never existed, the runs within it wait in line.
    if random.chance(percent: 10) { chain = [1 + RunNumber(random.below(Int(run)))].filter { $0 != run } }
    var demands: [Int: Int32] = [:]
    for _ in 0..<random.pick(from: [1, 1, 2, 3]) {
      let resource = random.below(model.capacities.count)
      let capacity = model.capacities[resource]
      demands[resource] = capacity == all ? random.pick(from: [1, all]) : 1 + Int32(random.below(Int(capacity)))
      // A run within a holder can continue with the holder's units, although the capacity has shrunk.
      let more = Int32(1 + random.below(6))
      if capacity < more, let number = open[resource], table.covers(more, of: number, chain) {
        demands[resource] = more
      }
    }
    for resource in demands.keys.sorted() where open[resource] == nil {
      open[resource] = table.resourceOpened(capacity: model.capacities[resource])
    }
    let isGranted = table.requested(
      run, demands.map { ClaimDemand(resource: open[$0.key] ?? -1, units: $0.value) }, inside: chain)
    table.checkInvariants()
    trace.append("\(run) requests \(demands) inside of \(chain): \(isGranted)")
    model.request(run, demands, inside: chain)
    chains[run] = chain
    return model.serve() == (isGranted ? [run] : []) && isSame()
  }

  private mutating func changeCapacity() -> Bool {
    guard let resource = model.capacities.indices.filter({ model.capacities[$0] < all }).randomElement(using: &random)
    else { return true }
    model.capacities[resource] = Int32(1 + random.below(6))
    guard let number = open[resource] else { return true }
    var granted: [RunNumber] = []
    let (lacking, waiting) = table.capacityChanged(number, to: model.capacities[resource], &granted)
    table.checkInvariants()
    trace.append("\(resource) has \(model.capacities[resource]) now: \(granted) granted, \(lacking) lack units")
    guard model.serve() == granted, (lacking + waiting).allSatisfy(table.isWaiting) else { return false }
    return isSame() && lacking.allSatisfy { end($0) }
  }

  private mutating func end() -> Bool {
    guard let run = chains.keys.sorted().randomElement(using: &random) else { return true }
    return end(run)
  }

  private mutating func end(_ run: RunNumber) -> Bool {
    chains[run] = nil
    var (granted, vacated): ([RunNumber], [ResourceNumber]) = ([], [])
    table.ended(run, &granted, vacated: &vacated)
    table.checkInvariants()
    trace.append("\(run) ends: \(granted) granted, \(vacated) vacated")
    for number in vacated {
      table.resourceClosed(number)
      open = open.filter { $0.value != number }
    }
    model.end(run)
    return model.serve() == granted && isSame()
  }

  private func isSame() -> Bool {
    let used = Set(model.claims.flatMap(\.demands.keys))
    return used == Set(open.keys)
      && (1..<nextRun).allSatisfy { run in
        let claim = model.claim(run)
        return table.isWaiting(run) == (claim?.isWaiting ?? false)
          && table.isGranted(run) == (claim.map { !$0.isWaiting && !$0.hasEnded } ?? false)
          && table.blockers(of: run).isEmpty == !(claim?.isWaiting ?? false)
      }
  }
}
