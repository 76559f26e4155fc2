import Synchronization

/// Internal. All claims of the process: one ledger behind all tables, since who waits may wait through several of them.
///
/// Nothing of the user's is called under its lock.
final class ResourceBook: Sendable {
  static let shared = ResourceBook()

  fileprivate struct State {
    var ledger = ResourceLedger()
    /// What the numbers of the pools stand for.
    var entries: ContiguousArray<ResourceEntry?> = []
    /// The claims, by their numbers.
    var claims: ContiguousArray<ResourceClaim?> = []
    /// Who made those that have ended and are kept by what is inside of them, by their numbers; perhaps of former ones as well.
    var formerProcedures: [Int32: ProcedureIdentity] = [:]
    /// What the ledger tells of an end; empty but in ``end(_:)``, so that no end has to allocate it.
    var granted: [Int32] = []
    var vacated: [Int32] = []
  }

  private let state = Mutex(State())
  /// How many bodies wait for something while they hold something, or wait for their own queue.
  private let awaits = Atomic(0)

  private init() {}

  // MARK: Claims

  /// Claims all that is wanted. It has to be ended, whatever the answer is.
  ///
  /// - Parameters:
  ///   - claim: What wants it; new, or ended before.
  ///   - turn: When it has come, if that is one thing and long ago; `nil` for now.
  ///   - runs: The runs that cannot end before it is granted.
  /// - Returns: What becomes of it.
  func place(
    _ claim: ResourceClaim, inTurn turn: ResourceClaim.Turn? = nil, for runs: ResourceLedger.ClaimRuns
  ) -> ResourceTable.Answer {
    let wants = claim.wants
    return state.withLock { state in
      for demand in wants.demands { state.open(demand.entry) }
      let demands = wants.demands.lazy.map { ResourceLedger.Demand(pool: $0.entry.pool, units: $0.units) }
      let (number, answer) = state.ledger.claimed(
        demands, inside: Self.enclosing(of: claim), before: turn?.serial, for: runs)
      let reference = state.ledger.reference(to: number)
      claim.reference = reference
      while state.claims.count <= Int(number) { state.claims.append(nil) }
      state.claims[Int(number)] = claim
      claim.turn = nil
      switch answer {
      case .granted:
        // Nobody waits for it, or it would have had to.
        if let entry = wants.wholeEntry {
          claim.turn = ResourceClaim.Turn(serial: reference.serial, waits: entry.waitCount)
        }
        return .granted
      case .waits(let others):
        for demand in wants.demands { demand.entry.waitStarted() }
        // Others may wait behind it already, for whom the holder was raised.
        let isRaised = turn != nil && state.raiseToHolder(claim, wants)
        var news = state.raise(for: claim, number)
        if isRaised, let claimant = claim.claimant { news.raised.append((claimant, claim.priority)) }
        if !others.isEmpty { news.granted = others.compactMap { state.claims[Int($0)]?.claimant } }
        return .waits(news)
      case .deadlocked(let circle): return .refused(state.waits(of: circle))
      }
    }
  }

  /// The claims that a claim is inside of. Called under the lock.
  private static func enclosing(of claim: ResourceClaim) -> [ResourceLedger.Reference] {
    claim.enclosing?.chain.compactMap(\.reference) ?? []
  }

  /// The run that has a claim ends, and another that wants the same takes it over, before anybody who waits for that.
  ///
  /// - Parameters:
  ///   - claim: One that holds all of one thing, and is inside of none.
  ///   - other: The other run.
  ///   - procedure: What that executes.
  ///   - priority: The priority of that.
  ///   - runs: The runs that could not end before it was granted.
  /// - Returns: That priority, or the highest of those that wait for it; `nil` if nothing is passed on, since something was
  ///   claimed inside of the former, or keeps it from ending.
  func passOn(
    _ claim: ResourceClaim, to other: any ResourceClaimant, of procedure: ProcedureIdentity, priority: UInt8,
    for runs: ResourceLedger.ClaimRuns
  ) -> UInt8? {
    var former: (any ResourceClaimant)?
    // Let go of outside of the lock.
    defer { _ = former }
    return state.withLock { state in
      guard let number = claim.reference?.claim,
        let reference = state.ledger.passedOn(number, to: runs)
      else { return nil }
      former = claim.passedOn(to: other, of: procedure)
      claim.priority = max(claim.priority, priority)
      claim.reference = reference
      return claim.priority
    }
  }

  /// Gives back what is held, or withdraws the claim; nothing, if it has been passed on.
  ///
  /// - Returns: Who is granted by that.
  func end(_ hold: ResourceHold) -> ResourceTable.News {
    let claim = hold.claim
    var claimant: (any ResourceClaimant)?
    // Let go of outside of the lock.
    defer { _ = claimant }
    return state.withLock { state in
      guard let reference = hold.reference else { return ResourceTable.News() }
      claimant = claim.claimant.take()
      state.claims[Int(reference.claim)] = nil
      state.ledger.ended(reference.claim, granted: &state.granted, vacated: &state.vacated)
      // Whatever is inside of it may be waited for by others, in its name.
      if state.ledger.isPresent(reference) { state.formerProcedures[reference.claim] = claim.procedure }
      defer {
        state.granted.removeAll(keepingCapacity: state.granted.count < 64)
        state.vacated.removeAll(keepingCapacity: state.vacated.count < 64)
      }
      var news = ResourceTable.News()
      for number in state.granted {
        if let claimant = state.claims[Int(number)]?.claimant { news.granted.append(claimant) }
      }
      for pool in state.vacated {
        guard let entry = state.close(pool) else { continue }
        // Whoever ends the claim has it still; one that was kept by what was inside of it may be nobody's any more.
        if !claim.wants.demands.contains(where: { $0.entry === entry }) { news.abandoned.append(entry) }
      }
      if let former = claim.ended() { news.abandoned.append(former.claim) }
      return news
    }
  }

  /// Whether all is held that is wanted.
  func isHeld(_ hold: ResourceHold) -> Bool {
    state.withLock { state in
      hold.reference.map { state.ledger.claims[Int($0.claim)].state == .granted } ?? false
    }
  }

  /// What was held is to be claimed again after its end, by somebody else. Says whether it may: not if it has been passed on.
  func renew(_ hold: ResourceHold, for claimant: any ResourceClaimant) -> Bool {
    state.withLock { _ in
      if !hold.isPassedOn { hold.claim.claimant = claimant }
      return !hold.isPassedOn
    }
  }

  /// A claim that waits has a higher priority now.
  func raise(_ claim: ResourceClaim, to priority: UInt8) -> ResourceTable.News {
    state.withLock { state in
      guard let number = claim.reference?.claim, claim.priority < priority else { return ResourceTable.News() }
      claim.priority = priority
      return state.raise(for: claim, number)
    }
  }

  // MARK: Waiting for runs while holding something

  /// A body is about to wait for runs or for a queue, of which `awaitReached` tells, until `awaitEnded`.
  ///
  /// - Parameters:
  ///   - number: What this wait is called.
  ///   - hold: The innermost claim that the body is inside of.
  ///   - idlers: Where it waits for its own queue, the runs there that it is part of.
  func awaitStarted(_ number: UInt64, inside hold: ResourceHold?, idlers: [UInt64] = []) {
    awaits.wrappingAdd(1, ordering: .relaxed)
    state.withLock { state in
      let holders = hold?.chain.compactMap(\.reference) ?? []
      state.ledger.awaitStarted(number, holders: holders, idlers: idlers)
    }
  }

  func awaitEnded(_ number: UInt64) {
    state.withLock { $0.ledger.awaitEnded(number) }
    awaits.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Whether any body that holds something waits for runs. Whoever asks has written down under some lock what it waits for:
  /// who starts to wait after this was read will find that there.
  var hasAwaits: Bool { awaits.load(ordering: .relaxed) > 0 }

  /// What a body waits for has become known.
  ///
  /// - Parameters:
  ///   - targets: What it waits for, and all that this waits for: runs, and queues.
  ///   - source: Who waits.
  ///   - claims: The claims of these runs, where there are any.
  /// - Returns: What has to be told.
  func awaitReached(
    _ targets: Set<UInt64>, from source: ResourceLedger.AwaitSource, claims: [ResourceClaim]
  ) -> ResourceTable.News {
    state.withLock { state in
      var granted: [Int32] = []
      var refused: [(claim: Int32, circle: [ResourceLedger.Link])] = []
      state.ledger.awaitReached(
        targets, from: source, claims: claims.compactMap(\.reference), granted: &granted, refused: &refused)
      return ResourceTable.News(
        granted: granted.compactMap { state.claims[Int($0)]?.claimant },
        refused: refused.compactMap { refusal in
          state.claims[Int(refusal.claim)]?.claimant.map { ($0, state.waits(of: refusal.circle)) }
        })
    }
  }

  // MARK: Looking

  /// What claims wait for, and who holds that: by the claim.
  ///
  /// - Complexity: O(n) for n claims in the process.
  func waits(of claims: [ResourceClaim]) -> [ObjectIdentifier: [ExclusionWait]] {
    guard !claims.isEmpty else { return [:] }
    return state.withLock { state in
      let holders = state.ledger.holdersByPool
      var waits: [ObjectIdentifier: [ExclusionWait]] = [:]
      for claim in claims {
        guard let number = claim.reference?.claim else { continue }
        waits[ObjectIdentifier(claim)] = state.ledger.poolsWaitedFor(by: number).flatMap { pool in
          (holders[pool] ?? []).filter { !state.ledger.isInside(number, $0) }.compactMap { holder in
            state.link(ResourceLedger.Link(claim: number, pool: state.ledger.pools[Int(pool)].resource, holder: holder))
          }
        }
      }
      return waits
    }
  }
}

extension ResourceBook.State {
  /// Has a pool stand for a key, if none does.
  fileprivate mutating func open(_ entry: ResourceEntry) {
    guard entry.pool < 0 else { return }
    let pool = ledger.resourceOpened(capacity: entry.capacity)
    entry.pool = pool
    while entries.count <= Int(pool) { entries.append(nil) }
    entries[Int(pool)] = entry
    entry.table.openPools.wrappingAdd(1, ordering: .releasing)
  }

  fileprivate mutating func close(_ pool: Int32) -> ResourceEntry? {
    let entry = entries[Int(pool)].take()
    entry?.pool = -1
    entry?.table.openPools.wrappingSubtract(1, ordering: .releasing)
    ledger.poolClosed(pool)
    // What is empty keeps the memory of what was in it.
    if ledger.pools.isEmpty { (claims, formerProcedures, entries) = ([], [:], []) }
    return entry
  }

  /// Gives a claim the priority of who holds the first thing that it wants, if that is higher; says whether it is.
  fileprivate func raiseToHolder(_ claim: ResourceClaim, _ wants: ResourceDemands) -> Bool {
    guard let entry = wants.demands.first?.entry, let holder = ledger.holder(of: entry.pool),
      let priority = claims[Int(holder)]?.priority, priority > claim.priority
    else { return false }
    claim.priority = priority
    return true
  }

  /// Raises who comes before a claim to its priority.
  fileprivate func raise(for claim: ResourceClaim, _ number: Int32) -> ResourceTable.News {
    var news = ResourceTable.News()
    let others = ledger.inTheWay(of: number) { other in
      claims[Int(other)].map { $0.priority >= claim.priority } ?? false
    }
    for other in others {
      guard let other = claims[Int(other)], other.priority < claim.priority else { continue }
      other.priority = claim.priority
      if let claimant = other.claimant { news.raised.append((claimant, claim.priority)) }
    }
    return news
  }

  fileprivate func waits(of circle: [ResourceLedger.Link]) -> [ExclusionWait] {
    circle.compactMap(link)
  }

  fileprivate func link(_ link: ResourceLedger.Link) -> ExclusionWait? {
    guard let entry = entries[Int(link.pool)], let claimant = procedure(of: link.claim),
      let holder = procedure(of: link.holder)
    else { return nil }
    return ExclusionWait(procedure: claimant, key: entry.key, holder: holder)
  }

  private func procedure(of claim: Int32) -> ProcedureIdentity? {
    claims[Int(claim)]?.procedure ?? formerProcedures[claim]
  }
}
