/// Internal. Which claims would wait for ever, and for whom.
extension ResourceLedger {
  /// What keeps units of a pool from being given back: a holder that cannot end before `claim` has been granted.
  struct Obstacle {
    let holder: Int32
    let units: Int32
    let claim: Int32
  }

  /// By pool, in order of the claims.
  typealias Obstacles = [Int32: [Obstacle]]

  /// Which of `waitingInside` can go on, one after another in that order, and which wait for ever.
  ///
  /// Claims are granted wherever the units suffice that nobody who still waits keeps, whatever line they stand in.
  func prospects() -> (order: [Int32], stuck: Set<Int32>, obstacles: Obstacles) {
    var order: [Int32] = []
    var stuck = waitingInside
    while true {
      let obstacles = obstacles(of: stuck)
      let kept = obstacles.mapValues(units)
      let free = stuck.filter { candidate in
        allPlaces(of: candidate) { pools[Int($0.pool)].capacity - kept[$0.pool, default: 0] >= $0.units }
      }
      guard !free.isEmpty else { return (order, stuck, obstacles) }
      order += inOrder(free)
      stuck.subtract(free)
    }
  }

  private func obstacles(of stuck: Set<Int32>) -> Obstacles {
    var obstacles: Obstacles = [:]
    var waiting: [UInt64: Int] = [:]
    for claim in stuck where claims[Int(claim)].runs.room > 0 {
      waiting[claims[Int(claim)].runs.own.queue, default: 0] += 1
    }
    for claim in inOrder(stuck) {
      let holders = dependents(of: claim) { runs in waiting[runs.own.queue, default: 0] >= runs.room }
      for holder in inOrder(Set(holders)) {
        forEachPool(of: holder) { pool, units in
          obstacles[pool, default: []].append(Obstacle(holder: holder, units: units, claim: claim))
        }
      }
    }
    return obstacles
  }

  /// What is kept by that; a holder that several claims keep from ending holds its units once.
  private func units(_ obstacles: [Obstacle]) -> Int32 {
    var holders: Set<Int32> = []
    return obstacles.filter { holders.insert($0.holder).inserted }.reduce(0) { $0 + $1.units }
  }

  /// The shortest way from a claim over those that it waits for back to itself, if there is one.
  func circle(through start: Int32, _ obstacles: Obstacles) -> [Link]? {
    var links: [Int32: (previous: Int32, link: Link)] = [:]
    var front = [start]
    while !front.isEmpty, links[start] == nil {
      var nextFront: [Int32] = []
      for claim in front {
        for (link, other) in waits(of: claim, obstacles) where links[other] == nil {
          links[other] = (claim, link)
          nextFront.append(other)
        }
      }
      front = nextFront
    }
    return links[start] == nil ? nil : unwind(links, to: start)
  }

  /// For whom a claim waits, and what the holder has that cannot end without that one.
  private func waits(of claim: Int32, _ obstacles: Obstacles) -> [(link: Link, claim: Int32)] {
    // Of those only that are still there: another claim may have come under the number of one that has ended.
    let own = Set(claims[Int(claim)].ancestors.filter(isPresent).map(\.claim))
    var waits: [(link: Link, claim: Int32)] = []
    forEachPool(of: claim) { pool, wanted in
      let others = obstacles[pool] ?? []
      guard pools[Int(pool)].capacity - units(others) < wanted else { return }
      // What the claim's own ancestors have is not in its way: it wants only what exceeds that.
      for obstacle in others where !own.contains(obstacle.holder) {
        waits.append(
          (Link(claim: claim, pool: pools[Int(pool)].resource, holder: obstacle.holder), obstacle.claim))
      }
    }
    return waits
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
