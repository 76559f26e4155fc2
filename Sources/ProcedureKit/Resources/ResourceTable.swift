import Synchronization

/// Who holds which categories and resources.
///
/// Procedures exclude each other wherever they run, since there is one table for the process. A queue with a table of its
/// own (``ProcedureQueue/init(_:maxConcurrentProcedures:isSuspended:clock:executor:maxWaitingProcedures:overflow:contextCarriers:resources:hooks:seed:)``) excludes
/// only on the queues that share it: for tests, and for parts of a program that know nothing of each other.
///
/// Keys that nobody holds or waits for use no memory.
public final class ResourceTable: Sendable {
  /// The table of the process, for all queues that have none of their own, and for what runs without a queue.
  public static let shared = ResourceTable()

  fileprivate struct State {
    var ledger = ResourceLedger()
    var pools: [ResourceKey: Int32] = [:]
    /// The keys of the pools, by their numbers.
    var keys: [Int32: ResourceKey] = [:]
    /// The claims, by their numbers.
    var claims: ContiguousArray<ResourceClaim?> = []
  }

  /// What becomes of a claim at first.
  enum Answer: Sendable {
    case granted
    /// The claimant will be told. Others may have to be told that it waits.
    case waits(News)
    /// It would wait for ever.
    case refused([ExclusionWait])
  }

  /// What the claimants of others have to be told. It is not told under any lock.
  struct News: Sendable {
    var granted: [any ResourceClaimant] = []
    var refused: [(claimant: any ResourceClaimant, waits: [ExclusionWait])] = []
    /// Those that something of higher priority waits for.
    var raised: [(claimant: any ResourceClaimant, priority: UInt8)] = []

    var isEmpty: Bool { granted.isEmpty && refused.isEmpty && raised.isEmpty }

    fileprivate func tell() {
      for claimant in granted { claimant.resourcesGranted() }
      for (claimant, waits) in refused { claimant.resourcesRefused(waits) }
      for (claimant, priority) in raised { claimant.raise(to: TaskPriority(rawValue: priority)) }
    }
  }

  private struct Outbox {
    var news: [News] = []
    var isDelivering = false
  }

  private let state = Mutex(State())
  private let outbox = Mutex(Outbox())
  /// Executions that several wait for.
  let sharedWork = SharedWorkTable()

  /// An empty table.
  public init() {}

  // MARK: Claims

  /// Claims all that is requested. It has to be ended, whatever the answer is.
  ///
  /// - Parameters:
  ///   - claim: Who wants it; new, or ended before.
  ///   - request: What is wanted.
  ///   - runs: The runs that cannot end before it is granted.
  /// - Returns: What becomes of it.
  func place(_ claim: ResourceClaim, _ request: ResourceRequest, for runs: ResourceLedger.ClaimRuns) -> Answer {
    state.withLock { state in
      let demands = request.demands.map { demand in
        ResourceLedger.Demand(pool: state.pool(of: demand), units: demand.units)
      }
      let (number, answer) = state.ledger.claimed(demands, inside: enclosing(of: claim), for: runs)
      claim.reference = state.ledger.reference(to: number)
      claim.request = request
      while state.claims.count <= Int(number) { state.claims.append(nil) }
      state.claims[Int(number)] = claim
      switch answer {
      case .granted: return .granted
      case .waits(let others):
        var news = state.raise(for: claim, number)
        news.granted = others.compactMap { state.claims[Int($0)]?.claimant }
        return .waits(news)
      case .deadlocked(let circle): return .refused(state.waits(of: circle))
      }
    }
  }

  /// The claims of this table that a claim is inside of. Called under the lock.
  private func enclosing(of claim: ResourceClaim) -> [ResourceLedger.Reference] {
    guard claim.enclosing != nil else { return [] }
    return sequence(first: claim, next: \.enclosing).dropFirst().filter { $0.table === self }.compactMap(\.reference)
  }

  /// Gives back what a claim holds, or withdraws it.
  ///
  /// - Returns: Who is granted by that.
  func end(_ claim: ResourceClaim) -> News {
    state.withLock { state in
      guard let reference = claim.reference.take() else { return News() }
      var (granted, vacated): ([Int32], [Int32]) = ([], [])
      state.claims[Int(reference.claim)] = nil
      state.ledger.ended(reference.claim, granted: &granted, vacated: &vacated)
      let news = News(granted: granted.compactMap { state.claims[Int($0)]?.claimant })
      for pool in vacated { state.close(pool) }
      return news
    }
  }

  /// Whether a claim holds all that it wants.
  func isHeld(_ claim: ResourceClaim) -> Bool {
    state.withLock { state in
      claim.reference.map { state.ledger.claims[Int($0.claim)].state == .granted } ?? false
    }
  }

  // MARK: News

  /// Tells claimants what has become of their claims. Called outside of all locks.
  ///
  /// What follows from that, and is delivered meanwhile, is told by whoever delivers already: a loop and not a recursion,
  /// however many queues pass a grant on to each other.
  func deliver(_ news: News) {
    guard !news.isEmpty else { return }
    let isFirst = outbox.withLock { outbox in
      outbox.news.append(news)
      defer { outbox.isDelivering = true }
      return !outbox.isDelivering
    }
    guard isFirst else { return }
    while true {
      let batch = outbox.withLock { outbox in
        outbox.isDelivering = !outbox.news.isEmpty
        return outbox.news.takeAll()
      }
      guard !batch.isEmpty else { return }
      for news in batch { news.tell() }
    }
  }

  /// A claim that waits has a higher priority now.
  func raise(_ claim: ResourceClaim, to priority: UInt8) -> News {
    state.withLock { state in
      guard let number = claim.reference?.claim, claim.priority < priority else { return News() }
      claim.priority = priority
      return state.raise(for: claim, number)
    }
  }

  // MARK: Waiting for runs while holding something

  /// A body is about to wait for runs, of which `awaitReached` tells, until `awaitEnded`.
  ///
  /// - Parameters:
  ///   - number: What this wait is called.
  ///   - claim: The innermost claim that the body is inside of.
  func awaitStarted(_ number: UInt64, inside claim: ResourceClaim) {
    state.withLock { state in
      let holders = sequence(first: claim, next: \.enclosing).filter { $0.table === self }.compactMap(\.reference)
      state.ledger.awaitStarted(number, holders: holders)
    }
  }

  func awaitEnded(_ number: UInt64) {
    state.withLock { $0.ledger.awaitEnded(number) }
  }

  /// Whether any body that holds something waits for runs.
  var hasAwaits: Bool {
    state.withLock { !$0.ledger.awaits.isEmpty }
  }

  /// What a body waits for has become known.
  ///
  /// - Parameters:
  ///   - runs: The runs that it waits for, and all that these wait for.
  ///   - source: Who waits.
  ///   - claims: The claims of these runs, where there are any.
  /// - Returns: What has to be told.
  func awaitReached(
    _ runs: Set<UInt64>, from source: ResourceLedger.AwaitSource, claims: [ResourceClaim]
  ) -> News {
    state.withLock { state in
      var granted: [Int32] = []
      var refused: [(claim: Int32, circle: [ResourceLedger.Link])] = []
      state.ledger.awaitReached(
        runs, from: source, claims: claims.filter { $0.table === self }.compactMap(\.reference), granted: &granted,
        refused: &refused)
      return News(
        granted: granted.compactMap { state.claims[Int($0)]?.claimant },
        refused: refused.compactMap { refusal in
          state.claims[Int(refusal.claim)].map { ($0.claimant, state.waits(of: refusal.circle)) }
        })
    }
  }

  // MARK: Looking

  /// What claims wait for, in whatever tables, and who holds that: by the claim.
  ///
  /// - Complexity: O(n) for n claims in these tables.
  static func waits(of claims: [ResourceClaim]) -> [ObjectIdentifier: [ExclusionWait]] {
    var waits: [ObjectIdentifier: [ExclusionWait]] = [:]
    for claims in Dictionary(grouping: claims, by: { ObjectIdentifier($0.table) }).values {
      for (claim, wait) in zip(claims, claims[0].table.waits(of: claims)) { waits[ObjectIdentifier(claim)] = wait }
    }
    return waits
  }

  /// The same for claims of this table, in order.
  private func waits(of claims: [ResourceClaim]) -> [[ExclusionWait]] {
    guard !claims.isEmpty else { return [] }
    return state.withLock { state in
      let holders = state.ledger.holdersByPool
      return claims.map { claim in
        guard let number = claim.reference?.claim else { return [] }
        return state.ledger.poolsWaitedFor(by: number).flatMap { pool in
          (holders[pool] ?? []).compactMap { holder in
            state.link(ResourceLedger.Link(claim: number, pool: state.ledger.pools[Int(pool)].resource, holder: holder))
          }
        }
      }
    }
  }

  /// How many keys somebody holds or waits for.
  public var count: Int {
    state.withLock { $0.pools.count }
  }
}

extension ResourceTable.State {
  fileprivate mutating func pool(of demand: ResourceRequest.Demand) -> Int32 {
    if let pool = pools[demand.key] {
      require(
        ledger.pools[Int(pool)].capacity == demand.capacity,
        "Resource \"\(demand.key)\" is used with the capacities \(ledger.pools[Int(pool)].capacity) and \(demand.capacity)"
      )
      return pool
    }
    let pool = ledger.resourceOpened(capacity: demand.capacity)
    pools[demand.key] = pool
    keys[pool] = demand.key
    return pool
  }

  fileprivate mutating func close(_ pool: Int32) {
    if let key = keys.removeValue(forKey: pool) { pools.removeValue(forKey: key) }
    ledger.poolClosed(pool)
    // What is empty keeps the memory of what was in it.
    if pools.isEmpty, max(claims.count, pools.capacity) > 1_024 { (claims, pools, keys) = ([], [:], [:]) }
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
      news.raised.append((other.claimant, claim.priority))
    }
    return news
  }

  fileprivate func waits(of circle: [ResourceLedger.Link]) -> [ExclusionWait] {
    circle.compactMap(link)
  }

  fileprivate func link(_ link: ResourceLedger.Link) -> ExclusionWait? {
    guard let claim = claims[Int(link.claim)], let holder = claims[Int(link.holder)], let key = keys[link.pool] else {
      return nil
    }
    return ExclusionWait(procedure: claim.procedure, key: key, holder: holder.procedure)
  }
}
