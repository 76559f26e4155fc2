/// Internal. Where claims stand: their places, the lines of the pools, and who holds what.
extension ResourceLedger {
  // MARK: Places

  mutating func makeClaim(inside ancestors: [Reference], before turn: UInt64?, for runs: ClaimRuns) -> Int32 {
    let claim = Claim(serial: nextSerial, turn: turn ?? nextSerial, ancestors: ancestors, runs: runs)
    nextSerial += 1
    guard let index = vacantClaims.popLast() else {
      claims.append(claim)
      return Int32(claims.count - 1)
    }
    claims[Int(index)] = claim
    return index
  }

  /// What a claim is called for as long as it is there.
  func reference(to claim: Int32) -> Reference {
    Reference(claim: claim, serial: claims[Int(claim)].serial)
  }

  /// Whether a claim is still there.
  func isPresent(_ reference: Reference) -> Bool {
    guard Int(reference.claim) < claims.count else { return false }
    return claims[Int(reference.claim)].serial == reference.serial && claims[Int(reference.claim)].isPresent
  }

  /// Whether a claim is there, holds something, and has not ended.
  func isHolding(_ reference: Reference) -> Bool {
    isPresent(reference) && claims[Int(reference.claim)].state == .granted
  }

  /// Whether a claim takes part of what there is, whether it has ended or not.
  func holds(_ claim: Int32) -> Bool {
    claims[Int(claim)].state == .granted || claims[Int(claim)].state == .over
  }

  /// Those of a new claim's ancestors in whose parts it has its own. One that has ended may be kept by one further in.
  func effective(_ ancestors: [Reference]) -> [Reference] {
    guard !ancestors.isEmpty else { return ancestors }
    var isInside = false
    return ancestors.filter { ancestor in
      if isHolding(ancestor) { isInside = true }
      return isInside && isPresent(ancestor) && holds(ancestor.claim)
    }
  }

  /// Finds out which pools a demand draws on: those inside of its ancestors' parts, and the whole for what exceeds them.
  mutating func addPlaces(for demand: Demand, of claim: Int32) {
    /// What the ancestors passed so far have drawn from further out already.
    var had: Int32 = 0
    for ancestor in claims[Int(claim)].ancestors where demand.units > had {
      guard let held = heldPlace(of: ancestor.claim, resource: demand.pool) else { continue }
      let inner = innerPool(of: held)
      let capacity = pools[Int(inner)].capacity
      addPlace(
        Place(
          claim: claim, pool: inner, units: min(demand.units, capacity) - min(had, capacity), demand: demand.units,
          sibling: claims[Int(claim)].firstPlace))
      claims[Int(ancestor.claim)].inside += 1
      had = max(had, places[Int(held)].demand)
    }
    guard demand.units > had else { return }
    addPlace(
      Place(
        claim: claim, pool: demand.pool, units: demand.units - had, demand: demand.units,
        sibling: claims[Int(claim)].firstPlace))
  }

  private mutating func addPlace(_ place: Place) {
    let index = vacantPlaces.popLast() ?? Int32(places.count)
    if Int(index) == places.count { places.append(place) } else { places[Int(index)] = place }
    claims[Int(place.claim)].firstPlace = index
    pools[Int(place.pool)].places += 1
  }

  /// A place that stands for what a claim holds of a resource.
  private func heldPlace(of claim: Int32, resource: Int32) -> Int32? {
    var index = claims[Int(claim)].firstPlace
    while index >= 0 {
      if pools[Int(places[Int(index)].pool)].resource == resource { return index }
      index = places[Int(index)].sibling
    }
    return nil
  }

  /// The pool inside of a part that is held. Inside of a category, whoever holds it, readers share and others exclude.
  private mutating func innerPool(of place: Int32) -> Int32 {
    let held = places[Int(place)]
    if held.inner >= 0 { return held.inner }
    let resource = pools[Int(held.pool)].resource
    let capacity = pools[Int(resource)].capacity == Self.wholeCategory ? Self.wholeCategory : held.demand
    let inner = openPool(capacity: capacity, resource: resource, owner: held.claim)
    places[Int(place)].inner = inner
    return inner
  }

  mutating func forEachPlace(of claim: Int32, _ body: (inout ResourceLedger, Int32) -> Void) {
    var index = claims[Int(claim)].firstPlace
    while index >= 0 {
      let sibling = places[Int(index)].sibling
      body(&self, index)
      index = sibling
    }
  }

  func allPlaces(of claim: Int32, _ holds: (Place) -> Bool) -> Bool {
    var index = claims[Int(claim)].firstPlace
    while index >= 0 {
      let place = places[Int(index)]
      guard holds(place) else { return false }
      index = place.sibling
    }
    return true
  }

  // MARK: Looking

  /// Who comes before a claim that waits: those in line before it, from behind, up to the first for which `isEnough`; and, if
  /// none was, those holders for which it is not.
  func inTheWay(of claim: Int32, upTo isEnough: (Int32) -> Bool) -> [Int32] {
    var found: [Int32] = []
    _ = allPlaces(of: claim) { place in
      var next = place.previous
      while next >= 0 {
        let other = places[Int(next)].claim
        if isEnough(other) { return true }
        found.append(other)
        next = places[Int(next)].previous
      }
      var holder = pools[Int(place.pool)].firstHolder
      while holder >= 0 {
        let other = places[Int(holder)].claim
        if !isEnough(other) { found.append(other) }
        holder = places[Int(holder)].next
      }
      return true
    }
    return found
  }

  /// One who holds units of a pool, if anybody does.
  func holder(of pool: Int32) -> Int32? {
    let place = pools[Int(pool)].firstHolder
    return place < 0 ? nil : places[Int(place)].claim
  }

  /// Who holds units of each pool, whether it has ended or not, in order of their numbers.
  var holdersByPool: [Int32: [Int32]] {
    var holders: [Int32: [Int32]] = [:]
    for claim in claims.indices where claims[claim].isPresent && holds(Int32(claim)) {
      _ = allPlaces(of: Int32(claim)) { place in
        holders[place.pool, default: []].append(Int32(claim))
        return true
      }
    }
    return holders
  }

  /// The pools in whose lines a claim stands.
  func poolsWaitedFor(by claim: Int32) -> [Int32] {
    guard claims[Int(claim)].state == .waiting else { return [] }
    var pools: [Int32] = []
    _ = allPlaces(of: claim) { place in
      pools.append(place.pool)
      return true
    }
    return pools
  }

  // MARK: Lines

  /// The first of those at the end of a line whose turns all come after that of a claim that comes to stand in it; -1 for none.
  ///
  /// - Complexity: O(n) for n such claims; O(1) for all but the first of many that come in one turn.
  mutating func first(behind place: Int32) -> Int32 {
    let turn = claims[Int(places[Int(place)].claim)].turn
    func isLater(_ other: Int32) -> Bool { claims[Int(places[Int(other)].claim)].turn > turn }
    if let last = lastInTurn, isPresent(last), claims[Int(last.claim)].state == .waiting,
      claims[Int(last.claim)].turn == turn
    {
      let predecessor = places[Int(claims[Int(last.claim)].firstPlace)]
      if predecessor.pool == places[Int(place)].pool, predecessor.next < 0 || isLater(predecessor.next) {
        return predecessor.next
      }
    }
    var (first, previous) = (Int32(-1), pools[Int(places[Int(place)].pool)].tail)
    while previous >= 0, isLater(previous) {
      (first, previous) = (previous, places[Int(previous)].previous)
      steps += 1
    }
    return first
  }

  /// Puts a place into the line of its pool; -1 for the end.
  mutating func insert(_ place: Int32, before next: Int32) {
    let pool = Int(places[Int(place)].pool)
    let previous = next < 0 ? pools[pool].tail : places[Int(next)].previous
    places[Int(place)].next = next
    places[Int(place)].previous = previous
    if previous >= 0 { places[Int(previous)].next = place } else { pools[pool].head = place }
    if next >= 0 { places[Int(next)].previous = place } else { pools[pool].tail = place }
    if claims[Int(places[Int(place)].claim)].isConnected { pools[pool].connected += 1 }
    if claims[Int(places[Int(place)].claim)].isMixed { link(place, by: 1) }
  }

  mutating func leaveLine(_ place: Int32) {
    let (pool, next, previous) = (
      Int(places[Int(place)].pool), places[Int(place)].next, places[Int(place)].previous
    )
    if previous >= 0 { places[Int(previous)].next = next } else { pools[pool].head = next }
    if next >= 0 { places[Int(next)].previous = previous } else { pools[pool].tail = previous }
    places[Int(place)].next = -1
    places[Int(place)].previous = -1
    if claims[Int(places[Int(place)].claim)].isConnected { pools[pool].connected -= 1 }
    if claims[Int(places[Int(place)].claim)].isMixed { link(place, by: -1) }
  }
}
