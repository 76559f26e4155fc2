/// Internal. Claims from inside of holders: where they stand in line.
///
/// Only a claim that keeps somebody from ending can close a circle: one inside of a holder, or one of a run for which the
/// body of a holder waits. Finding out costs nothing where there is no such claim.
extension ResourceLedger {
  /// A body that is inside of `holders` is about to wait for runs or queues, until `awaitEnded`.
  ///
  /// - Parameters:
  ///   - number: What this wait is called.
  ///   - holders: What the body is inside of.
  ///   - idlers: Where it waits for its own queue, the runs there that it is part of: nobody there waits for them.
  mutating func awaitStarted(_ number: UInt64, holders: [Reference], idlers: [UInt64] = []) {
    awaits[number] = Await(holders: holders, idlers: idlers)
    keep(holders, by: 1)
    for run in idlers { self.idlers[run, default: 0] += 1 }
  }

  mutating func awaitEnded(_ number: UInt64) {
    guard let entry = awaits.removeValue(forKey: number) else { return }
    keep(entry.holders, by: -1)
    for run in entry.idlers {
      let count = (idlers[run] ?? 0) - 1
      idlers[run] = count > 0 ? count : nil
    }
    for target in entry.targets {
      awaitsByTarget[target]?.remove(number)
      if awaitsByTarget[target]?.isEmpty ?? false { awaitsByTarget[target] = nil }
    }
  }

  /// What somebody waits for, or what that waits for itself, has become known.
  ///
  /// - Parameters:
  ///   - targets: The runs that are waited for, and the queues.
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
    var news: Set<UInt64> = []
    for number in numbers {
      for target in targets where awaits[number]?.targets.insert(target).inserted ?? false {
        awaitsByTarget[target, default: []].insert(number)
        news.insert(target)
      }
    }
    var concerned = Set(waiting.filter(isPresent).map(\.claim))
    for target in news { concerned.formUnion(waitingByNode[node(of: target)] ?? []) }
    steps += concerned.count
    for claim in inOrder(concerned) where claims[Int(claim)].state == .waiting {
      switch advanced(claim) {
      case .granted:
        granted.append(claim)
        // Those who stood behind it may be the next.
        forEachPlace(of: claim) { ledger, place in ledger.poolsToServe.append(ledger.places[Int(place)].pool) }
      case .waits(let others): granted += others
      case .deadlocked(let circle): refused.append((claim, circle))
      }
    }
    serve(granted: &granted)
  }

  private func awaits(from source: AwaitSource) -> Set<UInt64> {
    switch source {
    case .await(let number): awaits[number] == nil ? [] : [number]
    case .runs(let runs): awaits(of: runs) { _ in false }
    }
  }

  /// The awaits of which one of these runs, or its queue, is a target.
  ///
  /// - Parameters:
  ///   - runs: The runs.
  ///   - isFull: Says whether a run that waits to be started leaves no room for others, since none of those that wait with
  ///     it can start.
  /// - Returns: The numbers of the awaits.
  private func awaits(of runs: ClaimRuns, where isFull: (ClaimRuns) -> Bool) -> Set<UInt64> {
    var numbers: Set<UInt64> = []
    func add(_ target: UInt64) {
      if let awaits = awaitsByTarget[target] { numbers.formUnion(awaits) }
    }
    for member in runs.all {
      add(member.run)
      guard member.queue != 0 else { continue }
      add(Self.target(member.queue, .emptiness))
      if idlers[member.run] == nil { add(Self.target(member.queue, .idleness)) }
    }
    if runs.room > 0, isFull(runs) { add(Self.target(runs.own.queue, .room)) }
    return numbers
  }

  /// In the order in which they have come.
  func inOrder(_ claims: some Sequence<Int32>) -> [Int32] {
    claims.sorted { self.claims[Int($0)].serial < self.claims[Int($1)].serial }
  }

  /// A claim that stands in line goes before all that wait for what cannot end without it.
  ///
  /// - Complexity: O(d) for d claims around it where its line has to do with nothing else. Otherwise O(n) for the n claims
  ///   that wait in lines where somebody wants several things, or keeps others from ending: a circle may go through each
  ///   of them. Lines of claims that want one thing, and that nobody waits for, are passed over.
  mutating func advanced(_ claim: Int32) -> Answer {
    let holders = dependents(of: claim)
    if isApart(claim), !(isFirstEverywhere(claim) && fits(claim)) {
      noteWaiting(claim, for: holders)
      return .waits([])
    }
    let delayed = moveForward(claim, delayedBy: holders)
    if isFirstEverywhere(claim), fits(claim) {
      forEachPlace(of: claim) { ledger, place in ledger.leaveLine(place) }
      take(claim)
      return .granted
    }
    noteWaiting(claim, for: holders)
    // The others waited before, and none of them for ever.
    guard draws(claim, onPartsOf: delayed.holders) else { return .waits([]) }
    steps += waitingInside.count
    let prospects = prospects()
    if let circle = circle(through: claim, prospects.obstacles) {
      refuse(claim)
      return .deadlocked(circle)
    }
    return .waits(straightenLines(prospects.order.filter { delayed.claims.contains($0) || $0 == claim }))
  }

  /// Whether all that is wanted is inside of one owner, where everybody who waits wants nothing from elsewhere and nobody
  /// who holds is kept from ending: so nobody there can wait for this claim but behind it.
  private func isApart(_ claim: Int32) -> Bool {
    guard !claims[Int(claim)].isMixed else { return false }
    let owner = pools[Int(places[Int(claims[Int(claim)].firstPlace)].pool)].owner
    return owner >= 0 && claims[Int(owner)].linksInside == 0
  }

  private mutating func refuse(_ claim: Int32) {
    forEachPlace(of: claim) { ledger, place in
      ledger.leaveLine(place)
      ledger.poolsToServe.append(ledger.places[Int(place)].pool)
    }
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

  /// What is delayed by holders that cannot end before a claim is granted.
  private struct Delayed {
    /// Who waits for them. In lines where nobody else is connected, only `fronts` tell.
    var claims: Set<Int32> = []
    var holders: Set<Int32> = []
    /// The first who waits in a line in which the claim itself stands behind, and how many come before that one.
    var fronts: [Int32: (place: Int32, position: Int)] = [:]

    var isEmpty: Bool { claims.isEmpty && fronts.isEmpty }
  }

  /// Moves a claim in its lines before those that are delayed by holders which cannot end without it.
  @discardableResult
  private mutating func moveForward(_ claim: Int32, delayedBy holders: [Int32]) -> Delayed {
    let delayed = delayed(by: holders, without: claim)
    guard !delayed.isEmpty else { return delayed }
    forEachPlace(of: claim) { ledger, place in
      // Whoever stands behind somebody who is delayed is so as well.
      var next = ledger.places[Int(place)].next
      var last = ledger.places[Int(place)].previous
      if let front = delayed.fronts[ledger.places[Int(place)].pool] { (next, last) = (front.place, -1) }
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
  ///
  /// - Parameters:
  ///   - claim: The claim.
  ///   - isFull: Says whether a run that waits to be started leaves no room for others. Those that wait for room wait for
  ///     any of these runs: which is to be assumed of each as long as the order of lines is all that depends on it.
  /// - Returns: Claims that hold something.
  func dependents(of claim: Int32, where isFull: (ClaimRuns) -> Bool = { _ in true }) -> [Int32] {
    let entry = claims[Int(claim)]
    var holders = entry.ancestors.filter(isHolding).map(\.claim)
    if !awaits.isEmpty {
      for number in awaits(of: entry.runs, where: isFull).sorted() {
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
  private mutating func delayed(by first: [Int32], without skipped: Int32) -> Delayed {
    var delayed = Delayed(holders: Set(first))
    var holdersToVisit = first
    while let holder = holdersToVisit.popLast() {
      var placesToVisit = firstDelayed(by: holder, without: skipped, &delayed)
      while var place = placesToVisit.popLast() {
        if place >= 0, places[Int(place)].claim == skipped { place = places[Int(place)].next }
        guard place >= 0, delayed.claims.insert(places[Int(place)].claim).inserted else { continue }
        steps += 1
        let claim = places[Int(place)].claim
        _ = allPlaces(of: claim) { place in
          placesToVisit.append(place.next)
          return true
        }
        holdersToVisit += dependents(of: claim).filter { delayed.holders.insert($0).inserted }
      }
    }
    return delayed
  }

  /// Who waits first for each thing that a holder has, where somebody there is connected. Elsewhere those behind lead to
  /// nobody, and only a claim that stands there itself has to know of the first.
  private mutating func firstDelayed(by holder: Int32, without skipped: Int32, _ delayed: inout Delayed) -> [Int32] {
    var firsts: [Int32] = []
    var index = claims[Int(holder)].firstPlace
    while index >= 0 {
      let pool = places[Int(index)].pool
      index = places[Int(index)].sibling
      var (place, position, own) = (pools[Int(pool)].head, 0, Int32(-1))
      let isOwn = !allPlaces(of: skipped) { $0.pool != pool }
      let others = pools[Int(pool)].connected - (isOwn && claims[Int(skipped)].isConnected ? 1 : 0)
      guard place >= 0, isOwn || others > 0 else { continue }
      while place >= 0, isInside(places[Int(place)].claim, holder) || places[Int(place)].claim == skipped {
        if places[Int(place)].claim == skipped { own = place }
        (place, position) = (places[Int(place)].next, position + 1)
        steps += 1
      }
      if others > 0 {
        firsts.append(place)
      } else if place >= 0, own < 0, position < delayed.fronts[pool]?.position ?? .max {
        delayed.fronts[pool] = (place, position)
      }
    }
    return firsts
  }

  /// Whether a claim wants units of a pool of which one of these holds some that it is not inside of.
  private func draws(_ claim: Int32, onPartsOf holders: Set<Int32>) -> Bool {
    var wanted: Set<Int32> = []
    forEachPool(of: claim) { pool, _ in wanted.insert(pool) }
    return holders.contains { holder in
      !isInside(claim, holder) && !allPlaces(of: holder) { !wanted.contains($0.pool) }
    }
  }

  /// Whether what a holder has is not in the way of a claim, which is inside of it.
  func isInside(_ claim: Int32, _ holder: Int32) -> Bool {
    claims[Int(claim)].ancestors.contains { $0.claim == holder && $0.serial == claims[Int(holder)].serial }
  }

  func forEachPool(of claim: Int32, _ body: (_ pool: Int32, _ units: Int32) -> Void) {
    _ = allPlaces(of: claim) { place in
      body(place.pool, place.units)
      return true
    }
  }
}
