/// Internal. Claims from inside of holders: where they stand in line.
///
/// Only a claim that keeps somebody from ending can close a circle: one inside of a holder, or one of a run for which the
/// body of a holder waits. Finding out costs nothing where there is no such claim.
extension ResourceLedger {
  /// A body that is inside of `holders` is about to wait for runs, until `awaitEnded`.
  mutating func awaitStarted(_ number: UInt64, holders: [Reference]) {
    awaits[number] = Await(holders: holders)
  }

  mutating func awaitEnded(_ number: UInt64) {
    for target in awaits.removeValue(forKey: number)?.targets ?? [] {
      awaitsByTarget[target]?.remove(number)
      if awaitsByTarget[target]?.isEmpty ?? false { awaitsByTarget[target] = nil }
    }
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
    let numbers = awaits(from: source)
    guard !numbers.isEmpty else { return }
    var isNews = false
    for number in numbers {
      for target in targets where awaits[number]?.targets.insert(target).inserted ?? false {
        awaitsByTarget[target, default: []].insert(number)
        isNews = true
      }
    }
    let own = waiting.filter(isPresent).map(\.claim)
    let inside: Set = isNews ? waitingInside.filter { !claims[Int($0)].runs.isDisjoint(with: targets) } : []
    for claim in inside.union(own).sorted() where claims[Int(claim)].state == .waiting {
      switch advanced(claim) {
      case .granted: granted.append(claim)
      case .waits(let others): granted += others
      case .deadlocked(let circle): refused.append((claim, circle))
      }
    }
    serve(granted: &granted)
  }

  private func awaits(from source: AwaitSource) -> Set<UInt64> {
    switch source {
    case .await(let number): awaits[number] == nil ? [] : [number]
    case .runs(let runs): awaits(of: runs)
    }
  }

  /// The awaits of which one of these runs is a target.
  private func awaits(of runs: ClaimRuns) -> Set<UInt64> {
    var numbers = awaitsByTarget[runs.own] ?? []
    for run in runs.around { numbers.formUnion(awaitsByTarget[run] ?? []) }
    return numbers
  }

  /// A claim that stands in line goes before all that wait for what cannot end without it.
  ///
  /// - Complexity: O(n) for the n claims that wait for what it is inside of; O(1) where it is inside of nothing.
  mutating func advanced(_ claim: Int32) -> Answer {
    let holders = dependents(of: claim)
    let delayed = moveForward(claim, delayedBy: holders)
    if isFirstEverywhere(claim), fits(claim) {
      forEachPlace(of: claim) { ledger, place in ledger.leaveLine(place) }
      take(claim)
      return .granted
    }
    noteWaiting(claim, for: holders)
    // The others waited before, and none of them for ever.
    guard draws(claim, onPartsOf: delayed.holders) else { return .waits([]) }
    let prospects = prospects()
    if let circle = circle(through: claim, prospects.obstacles) {
      refuse(claim)
      return .deadlocked(circle)
    }
    return .waits(straightenLines(prospects.order.filter { delayed.claims.contains($0) || $0 == claim }))
  }

  /// Remembers a claim without which a holder cannot end, or a run for which one may come to wait.
  mutating func noteWaiting(_ claim: Int32, for holders: [Int32]) {
    if !holders.isEmpty || !claims[Int(claim)].runs.around.isEmpty { waitingInside.insert(claim) }
  }

  private mutating func refuse(_ claim: Int32) {
    forEachPlace(of: claim) { ledger, place in
      ledger.leaveLine(place)
      ledger.poolsToServe.append(ledger.places[Int(place)].pool)
    }
    waitingInside.remove(claim)
    mark(claim, as: .refused)
  }

  /// Lets claims go on that come to wait for what they are inside of only because they stand behind others.
  ///
  /// - Parameter order: An order in which they can go on.
  /// - Returns: Who is granted by that.
  private mutating func straightenLines(_ order: [Int32]) -> [Int32] {
    // Whoever goes on first moves last, and so before the others.
    for claim in order.reversed() {
      moveForward(claim, delayedBy: dependents(of: claim))
      forEachPlace(of: claim) { ledger, place in ledger.poolsToServe.append(ledger.places[Int(place)].pool) }
    }
    var granted: [Int32] = []
    serve(granted: &granted)
    return granted
  }

  /// Moves a claim in its lines before those that are delayed by holders which cannot end without it.
  @discardableResult
  private mutating func moveForward(
    _ claim: Int32, delayedBy holders: [Int32]
  ) -> (claims: Set<Int32>, holders: Set<Int32>) {
    let delayed = delayed(by: holders, without: claim)
    guard !delayed.claims.isEmpty else { return delayed }
    forEachPlace(of: claim) { ledger, place in
      // Whoever stands behind somebody who is delayed is so as well.
      var next = ledger.places[Int(place)].next
      var last = ledger.places[Int(place)].previous
      while last >= 0, delayed.claims.contains(ledger.places[Int(last)].claim) {
        (next, last) = (last, ledger.places[Int(last)].previous)
      }
      guard next != ledger.places[Int(place)].next else { return }
      ledger.leaveLine(place)
      ledger.insert(place, before: next)
    }
    return delayed
  }

  /// The claims that cannot end before this one has been granted.
  func dependents(of claim: Int32) -> [Int32] {
    let entry = claims[Int(claim)]
    var holders = entry.ancestors.filter(isHolding).map(\.claim)
    if !awaits.isEmpty {
      for number in awaits(of: entry.runs).sorted() {
        holders += awaits[number]?.holders.filter(isHolding).map(\.claim) ?? []
      }
    }
    // What has ended is kept by the claims that draw on it.
    var drawing = [claim] + holders
    while let inside = drawing.popLast() {
      forEachPool(of: inside) { pool, _ in
        let owner = pools[Int(pool)].owner
        guard owner >= 0, claims[Int(owner)].state == .over, !holders.contains(owner) else { return }
        holders.append(owner)
        drawing.append(owner)
      }
    }
    return holders
  }

  /// All claims that wait for what these holders have, or for somebody who waits for it, or behind somebody who does; and
  /// all holders that are kept by that. A claim inside of a holder wants what exceeds that one's part, and does not wait
  /// for it.
  private func delayed(by first: [Int32], without skipped: Int32) -> (claims: Set<Int32>, holders: Set<Int32>) {
    var delayed: Set<Int32> = []
    var holders = Set(first)
    var holdersToVisit = first
    while let holder = holdersToVisit.popLast() {
      var placesToVisit: [Int32] = []
      forEachPool(of: holder) { pool, _ in
        var place = pools[Int(pool)].head
        while place >= 0, isInside(places[Int(place)].claim, holder) { place = places[Int(place)].next }
        placesToVisit.append(place)
      }
      while var place = placesToVisit.popLast() {
        if place >= 0, places[Int(place)].claim == skipped { place = places[Int(place)].next }
        guard place >= 0, delayed.insert(places[Int(place)].claim).inserted else { continue }
        let claim = places[Int(place)].claim
        _ = allPlaces(of: claim) { place in
          placesToVisit.append(place.next)
          return true
        }
        holdersToVisit += dependents(of: claim).filter { holders.insert($0).inserted }
      }
    }
    return (delayed, holders)
  }

  /// Whether a claim wants units of a pool of which one of these holds some that it is not inside of.
  private func draws(_ claim: Int32, onPartsOf holders: Set<Int32>) -> Bool {
    var wanted: Set<Int32> = []
    forEachPool(of: claim) { pool, _ in wanted.insert(pool) }
    return holders.contains { holder in
      !isInside(claim, holder) && !allPlaces(of: holder) { !wanted.contains($0.pool) }
    }
  }

  private func isInside(_ claim: Int32, _ holder: Int32) -> Bool {
    claims[Int(claim)].ancestors.contains { $0.claim == holder && $0.serial == claims[Int(holder)].serial }
  }

  func forEachPool(of claim: Int32, _ body: (_ pool: Int32, _ units: Int32) -> Void) {
    _ = allPlaces(of: claim) { place in
      body(place.pool, place.units)
      return true
    }
  }
}
