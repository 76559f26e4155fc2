@testable import ProcedureKit

/// A random script of claims and of their ends, told to a ``ResourceLedger`` and to a ``LedgerModel``.
final class LedgerScript {
  private var random: SeededRandom
  private var ledger = ResourceLedger()
  private var model: LedgerModel
  /// The pools of resources that are claimed.
  private var pools: [Int: Int32] = [:]
  /// The ledger's names of claims, by the script's.
  private var references: [Int: ResourceLedger.Reference] = [:]
  /// Inside of which claims each one was made, innermost first.
  private var enclosing: [Int: [Int]] = [:]
  /// Zero is no run.
  private var nextClaim = 1
  private var nextAwait: UInt64 = 0
  private var trace: [String] = []
  private(set) var objection: String?
  /// How often what happens here, in percent; each script has its own character.
  private let outsiders: Int
  private let awaits: Int
  private let readers: Int
  private let bigClaims: Int
  /// How often what is rare has happened.
  private(set) var tally: [String: Int] = [:]

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let whole = ResourceLedger.wholeCategory
    model = LedgerModel(capacities: random.pick(from: [[whole, whole, 3], [whole, 2, 4], [whole, whole, whole]]))
    outsiders = random.pick(from: [20, 35, 60])
    awaits = random.pick(from: [0, 30, 70])
    readers = random.pick(from: [20, 35, 60])
    bigClaims = random.pick(from: [10, 60])
  }

  var story: String { trace.joined(separator: "\n") }

  /// Does so many random things, and then lets everything end. Returns the first objection.
  func run(steps: Int) -> String? {
    for _ in 0..<steps where objection == nil {
      switch random.below(10) {
      case 0..<5 where model.claims.count < 7: claim()
      case 5 where random.chance(percent: awaits): startAwait()
      case 6 where !model.awaits.isEmpty && random.chance(percent: 30): extendAwaits()
      case 6 where !model.awaits.isEmpty: endAwait(random.pick(from: model.awaits).number)
      default: endSomething()
      }
    }
    while objection == nil, !model.awaits.isEmpty { endAwait(model.awaits[0].number) }
    while objection == nil, let id = endable().first { end(id) }
    if objection == nil { checkVacancy() }
    return objection
  }

  private func object(_ text: String) {
    if objection == nil { objection = text }
  }

  private func note(_ rare: String) { tally[rare, default: 0] += 1 }

  // MARK: Events

  private func claim() {
    let id = nextClaim
    nextClaim += 1
    // Bodies execute when their claims are granted, and may leave tasks behind when they have ended.
    let parents = references.keys.sorted().filter { model[$0].state == .granted }
    let pastParents = past.keys.sorted().suffix(3)
    var parent = parents.isEmpty || random.chance(percent: outsiders) ? nil : random.pick(from: parents)
    if random.chance(percent: 8), !pastParents.isEmpty { parent = random.pick(from: Array(pastParents)) }
    enclosing[id] = parent.map { [$0] + (enclosing[$0] ?? []) } ?? []
    let ancestors = enclosing[id] ?? []
    var wants: [Int: Int32] = [:]
    for _ in 0..<(random.chance(percent: bigClaims) ? 2 : 1) {
      let resource = random.below(model.capacities.count)
      let most = model.capacities[resource]
      wants[resource] =
        model.isCategory(resource) ? (random.chance(percent: readers) ? 1 : most) : 1 + Int32(random.below(Int(most)))
    }
    let runs = ResourceLedger.ClaimRuns(own: UInt64(id), around: ancestors.map(UInt64.init))
    let demands = wants.sorted { $0.key < $1.key }.map { resource, units in
      ResourceLedger.Demand(pool: pool(of: resource), units: units)
    }
    let (number, answer) = ledger.claimed(
      demands, inside: ancestors.compactMap { enclosed(by: $0) }, for: runs)
    references[id] = ledger.reference(to: number)
    trace.append("\(id) claims \(wants) inside of \(ancestors): \(answer)")
    model.claims[id] = LedgerModel.Claim(
      wants: wants, ancestors: effective(ancestors), runs: Set([UInt64(id)] + ancestors.map(UInt64.init)))
    check(placed: [id], answered: [id: answer], granted: [])
  }

  /// References outlive their claims, as contexts do.
  private var past: [Int: ResourceLedger.Reference] = [:]

  private func enclosed(by id: Int) -> ResourceLedger.Reference? { references[id] ?? past[id] }

  private func effective(_ ancestors: [Int]) -> [Int] {
    var isInside = false
    return ancestors.filter { id in
      if model.claims[id]?.state == .granted { isInside = true }
      return isInside && model.isHolder(id)
    }
  }

  private func pool(of resource: Int) -> Int32 {
    if let pool = pools[resource] { return pool }
    let pool = ledger.resourceOpened(capacity: model.capacities[resource])
    pools[resource] = pool
    return pool
  }

  private func endable() -> [Int] { references.keys.sorted() }

  private func endSomething() {
    let ids = endable()
    guard !ids.isEmpty else { return }
    // Mostly in an order in which bodies end, which wait for what is inside of them.
    let leaves = ids.filter { id in !ids.contains { enclosing[$0]?.contains(id) ?? false } }
    end(random.pick(from: leaves.isEmpty || random.chance(percent: 25) ? ids : leaves))
  }

  private func end(_ id: Int) {
    guard let reference = references.removeValue(forKey: id) else { return }
    past[id] = reference
    var (granted, vacated): ([Int32], [Int32]) = ([], [])
    ledger.ended(reference.claim, granted: &granted, vacated: &vacated)
    for pool in vacated {
      guard let resource = pools.first(where: { $0.value == pool })?.key else {
        return object("pool \(pool) was vacated that is not open")
      }
      pools[resource] = nil
      ledger.poolClosed(pool)
    }
    trace.append("\(id) ends: \(granted.map(name)) granted, \(vacated.count) vacated")
    model.end(id)
    check(placed: [], answered: [:], granted: granted)
  }

  private func startAwait() {
    let holders = references.keys.sorted().filter { model[$0].state == .granted }
    guard !holders.isEmpty else { return }
    let body = random.pick(from: holders)
    let bodies = [body] + (enclosing[body] ?? [])
    // Runs that are there, or will be; nobody waits for what it is a part of.
    let target = random.below(nextClaim + 2)
    guard !bodies.contains(target) else { return }
    let number = nextAwait
    nextAwait += 1
    ledger.awaitStarted(number, holders: bodies.compactMap { enclosed(by: $0) })
    model.awaits.append(.init(number: number, holders: bodies, targets: []))
    trace.append("await \(number) starts inside of \(bodies)")
    note("await")
    reach(target, from: .await(number))
  }

  /// A run for which some body waits is found to wait for another.
  private func extendAwaits() {
    guard let run = random.pick(from: model.awaits).targets.min() else { return }
    let target = random.below(nextClaim + 2)
    guard !model.awaits.contains(where: { $0.holders.contains(target) }) else { return }
    reach(target, from: .runs(ResourceLedger.ClaimRuns(own: run)))
  }

  private func reach(_ target: Int, from source: ResourceLedger.AwaitSource) {
    var granted: [Int32] = []
    var refused: [(claim: Int32, circle: [ResourceLedger.Link])] = []
    ledger.awaitReached(
      [UInt64(target)], from: source, claims: references[target].map { [$0] } ?? [], granted: &granted,
      refused: &refused)
    let names = refused.map { name($0.claim) }
    trace.append("\(target) is awaited from \(source): \(granted.map(name)) granted, \(names) refused")
    let isNews = model.reach(UInt64(target), from: source)
    let moved = references.filter { id, _ in id == target || enclosing[id]?.contains(target) ?? false }
      .sorted { $0.value.serial < $1.value.serial }.map(\.key)
    var answers: [Int: ResourceLedger.Answer] = [:]
    for (claim, circle) in refused { answers[name(claim)] = .deadlocked(circle) }
    check(placed: isNews ? moved.filter { model[$0].state == .waiting } : [], answered: answers, granted: granted)
  }

  private func endAwait(_ number: UInt64) {
    ledger.awaitEnded(number)
    trace.append("await \(number) ends")
    model.awaits.removeAll { $0.number == number }
    check(placed: [], answered: [:], granted: [])
  }

  private func name(_ claim: Int32) -> Int {
    references.first { $0.value.claim == claim }?.key ?? -1
  }

  // MARK: What must hold

  /// - Parameters:
  ///   - placed: The claims that have got a place in this event.
  ///   - answered: What the ledger has said of them.
  ///   - granted: Whom else the ledger has granted.
  private func check(placed: [Int], answered: [Int: ResourceLedger.Answer], granted: [Int32]) {
    ledger.checkInvariants()
    var (told, expected): (Set<Int>, Set<Int>) = (Set(granted.map(name)), [])
    for id in placed {
      model.stand(id)
      let answer = answered[id] ?? .waits([])
      if case .waits(let others) = answer, !others.isEmpty {
        note("overtaken later")
        told.formUnion(others.map(name))
      }
      if answer == .granted { told.insert(id) }
      let waitsForEver = model.fewestLeft()
      if case .deadlocked(let circle) = answer {
        note("circle of \(circle.count)")
        confirm(circle, of: id, waitsForEver)
        model.line.removeAll { $0 == id }
        model[id].state = .refused
      } else {
        if !model.canGo(id) { model.straightenLine(behind: id) }
        expected.formUnion(model.serve())
      }
    }
    followGrants(told, expected.union(model.serve()))
    let left = model.fewestLeft()
    if !left.isEmpty { object("R4: \(left) wait for ever, and nobody is refused") }
    checkThatAllCanEnd()
  }

  private func confirm(_ circle: [ResourceLedger.Link], of id: Int, _ waitsForEver: Set<Int>) {
    if !waitsForEver.contains(id) { object("R4: \(id) was refused, and could have waited") }
    let links = circle.map { link in
      (name(link.claim), pools.first { $0.value == link.pool }?.key ?? -1, holderName(link.holder))
    }
    if circle.first.map({ name($0.claim) }) != id || !model.confirms(links) { object("R4: no circle: \(links)") }
  }

  private func holderName(_ claim: Int32) -> Int {
    let reference = ledger.reference(to: claim)
    return (references.merging(past) { one, _ in one }).first { $0.value == reference }?.key ?? -1
  }

  /// Whom the ledger has granted, and nobody else, has been first in the model as well.
  private func followGrants(_ told: Set<Int>, _ expected: Set<Int>) {
    trace.append("   model \(model.line), ledger \(lines)")
    let unexpected = told.subtracting(expected)
    if !unexpected.isEmpty { object("R1: \(unexpected) were granted out of turn") }
    let missing = expected.subtracting(told)
    if !missing.isEmpty { object("R1: \(missing) could have been granted") }
    for (id, reference) in references where ledger.claims[Int(reference.claim)].state != model[id].state {
      object("\(id) is \(ledger.claims[Int(reference.claim)].state), for the model \(model[id].state)")
    }
  }

  /// Who stands in line for what.
  private var lines: [String] {
    ledger.pools.indices.filter { ledger.pools[$0].isPresent && ledger.pools[$0].head >= 0 }.map { pool in
      var (line, place): ([Int], Int32) = ([], ledger.pools[pool].head)
      while place >= 0 {
        line.append(name(ledger.places[Int(place)].claim))
        place = ledger.places[Int(place)].next
      }
      return "\(pools.first { $0.value == ledger.pools[pool].resource }?.key ?? -1): \(line)"
    }
  }

  /// Lets everybody end in a copy of the ledger who is not kept by somebody that waits.
  private func checkThatAllCanEnd() {
    var copy = ledger
    var waiting = Set(references.filter { ledger.claims[Int($0.value.claim)].state == .waiting }.keys)
    var others = Set(references.keys).subtracting(waiting)
    while let free = others.sorted().first(where: { other in !waiting.contains { keeps($0, other, copy) } }),
      let reference = references[free]
    {
      var (granted, vacated): ([Int32], [Int32]) = ([], [])
      copy.ended(reference.claim, granted: &granted, vacated: &vacated)
      others.remove(free)
      let next = granted.map(name)
      waiting.subtract(next)
      others.formUnion(next)
    }
    if !waiting.isEmpty { object("R1: \(waiting) wait for ever as they stand in line") }
  }

  /// Whether a claim that waits keeps another from ending.
  private func keeps(_ waiting: Int, _ other: Int, _ ledger: ResourceLedger) -> Bool {
    guard let waiting = references[waiting], let other = references[other] else { return false }
    return ledger.dependents(of: waiting.claim).contains(other.claim)
  }

  private func checkVacancy() {
    if !pools.isEmpty { object("the resources \(pools.keys) are left") }
    if ledger.claims.contains(where: \.isPresent) || ledger.pools.contains(where: \.isPresent) {
      object("claims or parts of resources are left")
    }
    if !ledger.waitingInside.isEmpty || !ledger.poolsToServe.isEmpty || !ledger.awaits.isEmpty {
      object("something is remembered of what has ended")
    }
  }
}
