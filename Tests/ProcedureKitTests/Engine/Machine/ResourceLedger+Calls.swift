@testable import ProcedureKit

/// Calls of the ledger for tests by example: resources are closed as their table closes them, and invariants checked.
struct LedgerDesk {
  private(set) var ledger = ResourceLedger()
  private(set) var openResources: Set<Int32> = []
  /// Looking at everything after each event is too much for long lines.
  var checksInvariants = true

  /// A category that readers share and writers have alone.
  mutating func category() -> Int32 { resource(ResourceLedger.wholeCategory) }

  mutating func resource(_ capacity: Int32) -> Int32 {
    let pool = ledger.resourceOpened(capacity: capacity)
    openResources.insert(pool)
    return pool
  }

  mutating func claim(
    _ wants: [Int32: Int32], inside ancestors: [Int32] = [], for runs: ResourceLedger.ClaimRuns = .init()
  ) -> (claim: Int32, answer: ResourceLedger.Answer) {
    let demands = wants.sorted { $0.key < $1.key }.map { ResourceLedger.Demand(pool: $0.key, units: $0.value) }
    let result = ledger.claimed(demands, inside: ancestors.map(ledger.reference), for: runs)
    if checksInvariants { ledger.checkInvariants() }
    return result
  }

  /// A claim that has to be granted at once.
  mutating func hold(_ wants: [Int32: Int32], inside ancestors: [Int32] = []) -> Int32 {
    let (claim, answer) = claim(wants, inside: ancestors)
    precondition(answer == .granted, "\(answer)")
    return claim
  }

  /// A claim that has to wait.
  mutating func wait(for wants: [Int32: Int32], inside ancestors: [Int32] = []) -> Int32 {
    let (claim, answer) = claim(wants, inside: ancestors)
    precondition(answer == .waits([]), "\(answer)")
    return claim
  }

  /// A claim for all of one thing that has come when another was granted, and has to wait.
  mutating func waitInTurn(of other: UInt64, for pool: Int32) -> Int32 {
    let demand = ResourceLedger.Demand(pool: pool, units: ResourceLedger.wholeCategory)
    let (claim, answer) = ledger.claimed([demand], before: other)
    precondition(answer == .waits([]), "\(answer)")
    if checksInvariants { ledger.checkInvariants() }
    return claim
  }

  /// - Returns: The claim that has taken over what this one held.
  mutating func passOn(_ claim: Int32) -> ResourceLedger.Reference? {
    let other = ledger.passedOn(claim, to: .init())
    if checksInvariants { ledger.checkInvariants() }
    return other
  }

  /// - Returns: Who is granted by that.
  mutating func end(_ claim: Int32) -> [Int32] {
    var (granted, vacated): ([Int32], [Int32]) = ([], [])
    ledger.ended(claim, granted: &granted, vacated: &vacated)
    for pool in vacated {
      ledger.poolClosed(pool)
      openResources.remove(pool)
    }
    if checksInvariants { ledger.checkInvariants() }
    return granted
  }

  /// A body inside of `holders` waits for runs.
  mutating func await(
    _ number: UInt64, inside holders: [Int32], for targets: Set<UInt64>, claims: [Int32] = []
  ) -> (granted: [Int32], refused: [Int32]) {
    startAwait(number, inside: holders, idlers: [])
    return reach(targets, from: number, claims: claims)
  }

  mutating func startAwait(_ number: UInt64, inside holders: [Int32], idlers: [UInt64]) {
    ledger.awaitStarted(number, holders: holders.map(ledger.reference), idlers: idlers)
  }

  mutating func reach(
    _ targets: Set<UInt64>, from number: UInt64, claims: [Int32] = []
  ) -> (granted: [Int32], refused: [Int32]) {
    var granted: [Int32] = []
    var refused: [(claim: Int32, circle: [ResourceLedger.Link])] = []
    ledger.awaitReached(
      targets, from: .await(number), claims: claims.map(ledger.reference), granted: &granted, refused: &refused)
    if checksInvariants { ledger.checkInvariants() }
    return (granted, refused.map(\.claim))
  }

  mutating func endAwait(_ number: UInt64) { ledger.awaitEnded(number) }

  /// Whether nothing is claimed and nothing remembered of what was.
  var isVacant: Bool {
    openResources.isEmpty && !ledger.claims.contains(where: \.isPresent) && !ledger.pools.contains(where: \.isPresent)
      && ledger.waitingInside.isEmpty && ledger.waitingByNode.isEmpty && ledger.awaits.isEmpty
      && ledger.poolsToServe.isEmpty
  }
}
