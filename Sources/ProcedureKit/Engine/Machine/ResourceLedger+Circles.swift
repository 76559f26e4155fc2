/// Internal. Claims from inside of holders: where they stand in line, and which of them would wait for ever.
///
/// Only a claim that keeps somebody from ending can close a circle: one inside of a holder, or one of a run for which the
/// body of a holder waits. Finding out costs nothing where there is no such claim.
extension ResourceLedger {
  /// A body that is inside of `holders` is about to wait for runs, until `awaitEnded`.
  mutating func awaitStarted(_ number: UInt64, holders: [Reference]) {
    awaits.append(Await(number: number, holders: holders, targets: []))
  }

  mutating func awaitEnded(_ number: UInt64) {
    awaits.removeAll { $0.number == number }
  }

  /// What somebody waits for, or what that waits for itself, has become known.
  ///
  /// - Parameters:
  ///   - targets: The runs that are waited for.
  ///   - source: Who waits: a body that has said so, or runs for which bodies wait.
  ///   - waiting: The claims of the targets, where they have claimed already.
  ///   - granted: Receives the claims that may go first now.
  ///   - refused: Receives the claims that would wait for ever now.
  mutating func awaitReached(
    _ targets: Set<UInt64>, from source: AwaitSource, claims waiting: [Reference], granted: inout [Int32],
    refused: inout [(claim: Int32, circle: [Link])]
  ) {
    var isNews = false
    for index in awaits.indices where source.includes(awaits[index]) && !targets.isSubset(of: awaits[index].targets) {
      awaits[index].targets.formUnion(targets)
      isNews = true
    }
    guard isNews else { return }
    let own = waiting.filter { reference in
      claims[Int(reference.claim)].serial == reference.serial && claims[Int(reference.claim)].isPresent
    }
    let inside = waitingInside.filter { !claims[Int($0)].runs.isDisjoint(with: targets) }
    for claim in inside.union(own.map(\.claim)).sorted() where claims[Int(claim)].state == .waiting {
      forEachPlace(of: claim) { ledger, place in
        ledger.leaveLine(place)
        ledger.poolsToServe.append(ledger.places[Int(place)].pool)
      }
      switch placed(claim) {
      case .granted: granted.append(claim)
      case .waits: break
      case .deadlocked(let circle): refused.append((claim, circle))
      }
    }
    serve(granted: &granted)
  }

  /// Gives a claim that stands in no line its place: before all that wait for what cannot end without it.
  mutating func placed(_ claim: Int32) -> Answer {
    let holders = dependents(of: claim)
    let blocked = claimsWaiting(for: holders)
    forEachPlace(of: claim) { ledger, place in
      var next = ledger.pools[Int(ledger.places[Int(place)].pool)].head
      while next >= 0, !blocked.contains(ledger.places[Int(next)].claim) { next = ledger.places[Int(next)].next }
      ledger.insert(place, before: next)
    }
    markWaiting(claim)
    if isFirstEverywhere(claim), fits(claim) {
      forEachPlace(of: claim) { ledger, place in ledger.leaveLine(place) }
      take(claim)
      return .granted
    }
    if !holders.isEmpty || !claims[Int(claim)].runs.around.isEmpty { waitingInside.insert(claim) }
    guard !holders.isEmpty else { return .waits }
    guard let circle = circle(through: claim) else { return .waits }
    forEachPlace(of: claim) { ledger, place in ledger.leaveLine(place) }
    waitingInside.remove(claim)
    markRefused(claim)
    return .deadlocked(circle)
  }

  /// The holders that cannot end before this claim has been granted.
  private func dependents(of claim: Int32) -> [Int32] {
    let entry = claims[Int(claim)]
    var holders = entry.ancestors.filter(isHolding).map(\.claim)
    for wait in awaits where !entry.runs.isDisjoint(with: wait.targets) {
      holders += wait.holders.filter(isHolding).map(\.claim)
    }
    return holders
  }

  /// All claims that wait for what these holders have, or for somebody who waits for it, or behind somebody who does.
  private func claimsWaiting(for holders: [Int32]) -> Set<Int32> {
    var blocked: Set<Int32> = []
    var reached = Set(holders)
    var holdersToVisit = holders
    while let holder = holdersToVisit.popLast() {
      var claimsToVisit: [Int32] = []
      _ = allPlaces(of: holder) { place in
        claimsToVisit += line(from: pools[Int(place.pool)].head)
        return true
      }
      while let claim = claimsToVisit.popLast() {
        guard blocked.insert(claim).inserted else { continue }
        _ = allPlaces(of: claim) { place in
          claimsToVisit += line(from: place.next)
          return true
        }
        holdersToVisit += dependents(of: claim).filter { reached.insert($0).inserted }
      }
    }
    return blocked
  }

  private func line(from first: Int32) -> [Int32] {
    sequence(state: first) { place -> Int32? in
      guard place >= 0 else { return nil }
      defer { place = places[Int(place)].next }
      return places[Int(place)].claim
    }.map(\.self)
  }

  // MARK: Circles

  /// What keeps units of a pool from being given back: a holder that cannot end before `claim` has been granted.
  private struct Obstacle {
    let holder: Int32
    let units: Int32
    let claim: Int32
  }

  /// A circle of claims and holders through `claim`, if there is one.
  ///
  /// Claims are taken to be granted one after another wherever the units suffice that nobody who waits keeps; whoever is
  /// left then waits for ever.
  private func circle(through claim: Int32) -> [Link]? {
    var stuck = waitingInside
    var obstacles = obstacles(of: stuck)
    while let free = stuck.first(where: { candidate in
      allPlaces(of: candidate) { place in
        var holders: Set<Int32> = []
        let kept = (obstacles[place.pool] ?? []).filter { holders.insert($0.holder).inserted }.reduce(0) {
          $0 + $1.units
        }
        return pools[Int(place.pool)].capacity - kept >= place.units
      }
    }) {
      stuck.remove(free)
      guard stuck.contains(claim) else { return nil }
      obstacles = self.obstacles(of: stuck)
    }
    return path(from: claim, obstacles)
  }

  /// By pool, in order of the claims.
  private func obstacles(of stuck: Set<Int32>) -> [Int32: [Obstacle]] {
    var obstacles: [Int32: [Obstacle]] = [:]
    for claim in stuck.sorted() {
      for holder in dependents(of: claim) {
        _ = allPlaces(of: holder) { place in
          obstacles[place.pool, default: []].append(Obstacle(holder: holder, units: place.units, claim: claim))
          return true
        }
      }
    }
    return obstacles
  }

  /// The shortest way from a claim over those that it waits for back to itself.
  private func path(from start: Int32, _ obstacles: [Int32: [Obstacle]]) -> [Link]? {
    var links: [Int32: (previous: Int32, link: Link)] = [:]
    var front = [start]
    while !front.isEmpty {
      var nextFront: [Int32] = []
      for claim in front {
        var index = claims[Int(claim)].firstPlace
        while index >= 0 {
          let place = places[Int(index)]
          for obstacle in obstacles[place.pool] ?? [] where links[obstacle.claim] == nil {
            let link = Link(claim: claim, pool: pools[Int(place.pool)].resource, holder: obstacle.holder)
            links[obstacle.claim] = (claim, link)
            if obstacle.claim == start { return unwind(links, to: start) }
            nextFront.append(obstacle.claim)
          }
          index = place.sibling
        }
      }
      front = nextFront
    }
    return nil
  }

  private func unwind(_ links: [Int32: (previous: Int32, link: Link)], to start: Int32) -> [Link] {
    var circle: [Link] = []
    var claim = start
    repeat {
      guard let step = links[claim] else { preconditionFailure("ResourceLedger: a circle has a gap") }
      circle.append(step.link)
      claim = step.previous
    } while claim != start
    return circle.reversed()
  }
}

extension ResourceLedger {
  /// Traps where pools, lines and claims contradict each other; called by tests after each event.
  func checkInvariants() {
    var used: [Int32: Int32] = [:]
    for (index, claim) in claims.enumerated() where claim.isPresent {
      var inside: Int32 = 0
      for (placeIndex, place) in places.enumerated() where place.claim == index && isPlace(Int32(placeIndex)) {
        if claim.state == .granted || claim.state == .over { used[place.pool, default: 0] += place.units }
        if place.inner >= 0 { precondition(pools[Int(place.inner)].owner == index) }
      }
      for (other, place) in places.enumerated() where isPlace(Int32(other)) {
        if pools[Int(place.pool)].owner == index { inside += 1 }
      }
      precondition(inside == claim.inside, "the number of places inside of a claim is wrong")
    }
    for (index, pool) in pools.enumerated() where pool.isPresent {
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
