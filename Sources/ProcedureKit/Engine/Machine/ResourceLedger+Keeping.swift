/// Internal. Which claims keep others from ending, counted as they come and go: so that searches for circles can pass over
/// those lines and parts that no circle can lead through.
extension ResourceLedger {
  /// A claim waits: for all that cannot end before it.
  mutating func noteWaiting(_ claim: Int32, for holders: [Int32]) {
    guard !holders.isEmpty || !claims[Int(claim)].runs.around.isEmpty, waitingInside.insert(claim).inserted else {
      return
    }
    forEachNode(of: claim) { ledger, node in ledger.waitingByNode[node, default: []].insert(claim) }
    connect(claim)
  }

  /// A claim does not wait any more.
  mutating func stopWaiting(_ claim: Int32) {
    keep(claims[Int(claim)].ancestors, by: -1)
    guard waitingInside.remove(claim) != nil else { return }
    forEachNode(of: claim) { ledger, node in
      ledger.waitingByNode[node]?.remove(claim)
      if ledger.waitingByNode[node]?.isEmpty ?? false { ledger.waitingByNode[node] = nil }
    }
  }

  private mutating func forEachNode(of claim: Int32, _ body: (inout ResourceLedger, UInt64) -> Void) {
    for numbers in claims[Int(claim)].runs.all {
      if numbers.run != 0 { body(&self, numbers.run) }
      if numbers.queue != 0 { body(&self, numbers.queue) }
    }
  }

  private mutating func connect(_ claim: Int32) {
    guard !claims[Int(claim)].isConnected else { return }
    claims[Int(claim)].isConnected = true
    forEachPlace(of: claim) { ledger, place in ledger.pools[Int(ledger.places[Int(place)].pool)].connected += 1 }
  }

  /// So many claims more, or fewer, keep these from ending.
  mutating func keep(_ holders: [Reference], by count: Int32) {
    for holder in holders where isPresent(holder) {
      claims[Int(holder.claim)].keepers += count
      refreshKept(holder.claim)
    }
  }

  mutating func refreshKept(_ claim: Int32) {
    let entry = claims[Int(claim)]
    setKept(claim, entry.state == .over || (entry.state == .granted && entry.keepers > 0))
  }

  mutating func setKept(_ claim: Int32, _ isKept: Bool) {
    guard claims[Int(claim)].isKept != isKept else { return }
    claims[Int(claim)].isKept = isKept
    forEachPlace(of: claim) { ledger, place in ledger.link(place, by: isKept ? 1 : -1) }
  }

  /// A place begins, or ceases, to connect the pools inside of an owner to others.
  mutating func link(_ place: Int32, by count: Int32) {
    let owner = pools[Int(places[Int(place)].pool)].owner
    if owner >= 0 { claims[Int(owner)].linksInside += count }
  }

  /// Finds out whether what a new claim wants has several owners.
  mutating func noteOwners(of claim: Int32) {
    guard claims[Int(claim)].firstPlace >= 0 else { return }
    let first = places[Int(claims[Int(claim)].firstPlace)]
    let owner = pools[Int(first.pool)].owner
    claims[Int(claim)].isConnected = first.sibling >= 0
    claims[Int(claim)].isMixed = !allPlaces(of: claim) { pools[Int($0.pool)].owner == owner }
  }
}
