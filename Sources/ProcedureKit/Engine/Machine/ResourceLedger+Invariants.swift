extension ResourceLedger {
  /// Traps where pools, lines and claims contradict each other; called by tests after each event.
  ///
  /// - Complexity: O(n²) for n claims.
  func checkInvariants() {
    var used: [Int32: Int32] = [:]
    var drawn: [Int32: Int32] = [:]
    for (index, claim) in claims.enumerated() where claim.isPresent {
      var inside: Int32 = 0
      for (placeIndex, place) in places.enumerated() where place.claim == index && isPlace(Int32(placeIndex)) {
        drawn[place.pool, default: 0] += 1
        if holds(Int32(index)) { used[place.pool, default: 0] += place.units }
        if place.inner >= 0 { precondition(pools[Int(place.inner)].owner == index) }
      }
      for (other, place) in places.enumerated() where isPlace(Int32(other)) {
        if pools[Int(place.pool)].owner == index { inside += 1 }
      }
      precondition(inside == claim.inside, "the number of places inside of a claim is wrong")
    }
    for (index, pool) in pools.enumerated() where pool.isPresent {
      precondition(pool.places == drawn[Int32(index)] ?? 0, "the number of places of a pool is wrong")
      precondition(pool.used == used[Int32(index)] ?? 0 && pool.used <= pool.capacity, "a pool is used wrongly")
      var (previous, place): (Int32, Int32) = (-1, pool.head)
      while place >= 0 {
        precondition(places[Int(place)].previous == previous && places[Int(place)].pool == index)
        precondition(claims[Int(places[Int(place)].claim)].state == .waiting)
        (previous, place) = (place, places[Int(place)].next)
      }
      precondition(pool.tail == previous)
      if pool.head >= 0 {
        let first = places[Int(pool.head)].claim
        precondition(!(isFirstEverywhere(first) && fits(first)), "a claim waits that could be granted")
      }
    }
  }

  private func isPlace(_ place: Int32) -> Bool {
    var index = claims[Int(places[Int(place)].claim)].firstPlace
    while index >= 0 {
      if index == place { return true }
      index = places[Int(index)].sibling
    }
    return false
  }
}
