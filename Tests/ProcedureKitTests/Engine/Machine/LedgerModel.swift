@testable import ProcedureKit

/// What a ``ResourceLedger`` is meant to be: lists that are searched, and one rule after another.
///
/// All that wait stand in one line here. Whether somebody waits for ever is found by trying every order of what can happen.
struct LedgerModel {
  typealias State = ResourceLedger.State

  struct Claim {
    let wants: [Int: Int32]
    /// The claims inside of which it has its part, innermost first.
    let ancestors: [Int]
    let runs: Set<UInt64>
    var state = State.waiting
  }

  struct Await {
    let number: UInt64
    let holders: [Int]
    var targets: Set<UInt64>
  }

  /// A part of a resource: what one claim has of it, or all of it.
  struct Part: Hashable {
    let resource: Int
    let owner: Int?
  }

  let capacities: [Int32]
  var claims: [Int: Claim] = [:]
  var awaits: [Await] = []
  /// All that wait, the first in front.
  var line: [Int] = []

  init(capacities: [Int32]) { self.capacities = capacities }

  func isCategory(_ resource: Int) -> Bool { capacities[resource] == ResourceLedger.wholeCategory }

  subscript(id: Int) -> Claim {
    get {
      guard let claim = claims[id] else { preconditionFailure("no claim \(id)") }
      return claim
    }
    set { claims[id] = newValue }
  }

  func isHolder(_ id: Int) -> Bool { claims[id].map { $0.state == .granted || $0.state == .over } ?? false }

  // MARK: R1, R4: who may hold what together

  /// What there is of a part.
  func size(of part: Part) -> Int32 {
    guard let owner = part.owner, !isCategory(part.resource) else { return capacities[part.resource] }
    return self[owner].wants[part.resource] ?? 0
  }

  /// What a claim takes of each part: of the innermost as much as it has, and further out what exceeds that.
  func draws(of claim: Claim) -> [Part: Int32] {
    var draws: [Part: Int32] = [:]
    for (resource, units) in claim.wants {
      var passed: Int32 = 0
      for owner in claim.ancestors.filter({ claims[$0]?.wants[resource] != nil }).map(Int?.some) + [nil] {
        let part = Part(resource: resource, owner: owner)
        if units > passed { draws[part] = min(units, size(of: part)) - min(passed, size(of: part)) }
        if let owner { passed = max(passed, self[owner].wants[resource] ?? 0) }
      }
    }
    return draws
  }

  func used(of part: Part) -> Int32 {
    claims.keys.filter(isHolder).reduce(0) { $0 + (draws(of: self[$1])[part] ?? 0) }
  }

  func fits(_ id: Int) -> Bool {
    draws(of: self[id]).allSatisfy { part, units in size(of: part) - used(of: part) >= units }
  }

  // MARK: The end of claims

  /// Who keeps what a claim has although that has ended: all claims that have their parts inside of it.
  func isKept(_ id: Int) -> Bool {
    claims.values.contains { claim in
      claim.ancestors.contains(id) && claim.wants.keys.contains { self[id].wants[$0] != nil }
    }
  }

  mutating func end(_ id: Int) {
    line.removeAll { $0 == id }
    if isKept(id) { self[id].state = .over } else { claims[id] = nil }
    while let free = claims.keys.first(where: { self[$0].state == .over && !isKept($0) }) { claims[free] = nil }
  }

  // MARK: Who waits for whom

  /// Says whether somebody waits for this run who did not before.
  mutating func reach(_ target: UInt64, from source: ResourceLedger.AwaitSource) -> Bool {
    let known = awaits.map(\.targets)
    for index in awaits.indices {
      switch source {
      case .await(let number): if awaits[index].number == number { awaits[index].targets.insert(target) }
      case .runs(let runs): if awaits[index].targets.contains(runs.own.run) { awaits[index].targets.insert(target) }
      }
    }
    return awaits.map(\.targets) != known
  }

  /// The holders that cannot end before a claim has been granted.
  func dependents(of id: Int) -> Set<Int> {
    let claim = self[id]
    var holders = Set(claim.ancestors)
    for wait in awaits where !wait.targets.isDisjoint(with: claim.runs) { holders.formUnion(wait.holders) }
    holders = holders.filter { claims[$0]?.state == .granted }
    while let kept = claims.keys.first(where: { other in
      self[other].state == .over && !holders.contains(other)
        && (holders.union([id])).contains { inside in
          draws(of: self[inside]).keys.contains { $0.owner == other }
        }
    }) { holders.insert(kept) }
    return holders
  }

  /// All that wait for what these holders have, for whom waits for it, or behind one of them.
  func delayed(by first: Set<Int>, without skipped: Int = -1) -> Set<Int> {
    var (delayed, holders): (Set<Int>, Set<Int>) = ([], first)
    while true {
      let line = line.filter { $0 != skipped }
      let more = line.enumerated().filter { position, id in
        let wanted = Set(draws(of: self[id]).keys)
        return !delayed.contains(id)
          && (holders.contains { holder in
            !self[id].ancestors.contains(holder) && !wanted.isDisjoint(with: draws(of: self[holder]).keys)
          }
            || line[..<position].contains {
              delayed.contains($0) && !wanted.isDisjoint(with: draws(of: self[$0]).keys)
            })
      }.map(\.element)
      if more.isEmpty { return delayed }
      delayed.formUnion(more)
      for id in more { holders.formUnion(dependents(of: id)) }
    }
  }

  /// A claim comes, or a holder has come to wait for it.
  mutating func stand(_ id: Int) {
    if !line.contains(id) { line.append(id) }
    moveForward(id)
  }

  /// A claim waits. Those that only stand behind others which wait by that for what they are inside of go before these.
  mutating func straightenLine(behind id: Int) {
    let delayed = delayed(by: dependents(of: id), without: id)
    for other in orderOfGoingOn().reversed() where other == id || delayed.contains(other) { moveForward(other) }
  }

  /// Puts a claim before all that wait for what cannot end without it.
  private mutating func moveForward(_ id: Int) {
    let delayed = delayed(by: dependents(of: id), without: id)
    let before = line.prefix { $0 != id }
    line =
      before.filter { !delayed.contains($0) } + [id] + before.filter(delayed.contains)
      + line.dropFirst(before.count + 1)
  }

  /// Those that wait, in an order in which there is enough for them.
  private func orderOfGoingOn() -> [Int] {
    var (order, future) = ([Int](), self)
    while true {
      // All end that can.
      while let free = future.claims.keys.first(where: { id in
        future[id].state == .granted && !future.line.contains { future.dependents(of: $0).contains(id) }
      }) { future.end(free) }
      let free = future.line.filter(future.fits).sorted()
      guard !free.isEmpty else { return order }
      for id in free { future.end(id) }
      order += free
    }
  }

  /// Whether a claim is first among those that want the same, and fits.
  func canGo(_ id: Int) -> Bool {
    let wanted = Set(draws(of: self[id]).keys)
    return fits(id) && line.prefix { $0 != id }.allSatisfy { wanted.isDisjoint(with: draws(of: self[$0]).keys) }
  }

  /// Grants what is first among those that want the same, and fits.
  mutating func serve() -> Set<Int> {
    var granted: Set<Int> = []
    while let next = line.first(where: canGo) {
      line.removeAll { $0 == next }
      self[next].state = .granted
      granted.insert(next)
    }
    return granted
  }
}
