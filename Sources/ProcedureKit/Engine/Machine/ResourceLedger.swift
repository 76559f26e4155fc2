import Synchronization

/// Internal. Decides who holds which resources, and who is next: a pure value that is told of claims and of their ends.
///
/// A *claim* wants units of one or more resources, all together or not at all. A resource is a *pool* of units. A category
/// that excludes is a pool of `wholeCategory` units: a reader takes one of them, whoever excludes everybody takes all.
/// A claim that cannot be granted at once stands in the line of each of its pools, and is granted when it is the first in
/// all of them and the units suffice. Lines agree on the order, so that the claim that came first is never stuck behind
/// another that waits: no deadlock between claims of which none is inside another, and no starvation.
///
/// A claim from inside of a holder takes its units out of what the holder has, a pool of its own inside the holder's part,
/// and what exceeds that from around the holder. So it does not wait for its holder, and its siblings exclude each other.
/// It stands before all that wait for what it is inside of; what would still be a circle is found before it waits.
///
/// What a claim holds is given back when it has ended and all claims inside of it have.
struct ResourceLedger {
  /// The capacity of a category: so many may read at once, and one may exclude them all.
  static let wholeCategory = Int32.max

  /// What a claim wants of one resource.
  struct Demand: Equatable {
    let pool: Int32
    let units: Int32
  }

  /// What becomes of a claim at first.
  enum Answer: Equatable {
    case granted
    /// It stands in line. Others that this has moved out of its way are granted.
    case waits([Int32])
    /// It would wait for ever: each claim in the list waits for the next, the last one for the first.
    case deadlocked([Link])
  }

  /// One part of a circle: `claim` waits for what `holder` has of the resource `pool`.
  struct Link: Equatable {
    let claim: Int32
    let pool: Int32
    let holder: Int32
  }

  /// Where a claim stands. It may be ended in each state.
  enum State: Equatable {
    /// It stands in the line of each of its pools. `granted` or `refused` follow.
    case waiting
    /// It holds all that it wants. `over` follows where others draw on that when it ends.
    case granted
    /// It would have waited for ever, and stands in no line.
    case refused
    /// It has ended, and holds what it held until all claims inside of it have ended as well.
    case over
  }

  /// A claim for which another may have come meanwhile under the same number.
  struct Reference: Equatable {
    let claim: Int32
    let serial: UInt64
  }

  struct Claim {
    var serial: UInt64
    /// It comes in its lines before all claims of higher ones: its serial, unless it has come before it claimed.
    var turn: UInt64
    var state = State.refused
    var isPresent = true
    var firstPlace: Int32 = -1
    /// How many places of other claims draw on what it holds.
    var inside: Int32 = 0
    /// The claims that it is inside of, innermost first.
    let ancestors: [Reference]
    /// The runs that cannot end before this claim has been granted: its own, and those whose bodies it is part of.
    var runs: ClaimRuns
    /// Whether the search for circles may go on from it while it waits: it wants several things, or somebody may not end
    /// before it is granted.
    var isConnected = false
    /// Whether its places are in pools of several owners.
    var isMixed = false
    /// How many claims wait inside of it, and how many awaits its body has begun.
    var keepers: Int32 = 0
    /// Whether it holds something and may not be able to end: `keepers` are there, or it is over.
    var isKept = false
    /// How many places wait in the pools inside of it whose claims are mixed, and how many hold whose claims are kept.
    var linksInside: Int32 = 0
  }

  /// A run by its number, and the queue that it is on; 0 for none.
  struct RunNumbers: Equatable {
    var run: UInt64 = 0
    var queue: UInt64 = 0
  }

  /// Runs by their numbers; no allocation for one.
  struct ClaimRuns: Equatable {
    /// The run that claims, if there is one.
    var own = RunNumbers()
    /// Those whose bodies it is part of.
    var around: [RunNumbers] = []
    /// How many may wait on its queue to be started, if it is one of them; 0 where that is not limited.
    var room: Int = 0

    var all: [RunNumbers] { around.isEmpty ? [own] : [own] + around }
  }

  /// What a body can wait for of a queue: its number and this is the target.
  enum QueueWait: UInt64 {
    /// That nothing is left.
    case emptiness
    /// That nothing is left but bodies that wait for the same.
    case idleness
    /// That there is room among those that wait to be started.
    case room
  }

  /// The least number of a queue. Each is a multiple of four, so that targets differ from each other and from runs.
  static let firstQueue: UInt64 = 1 << 63

  private static let queues = Atomic<UInt64>(firstQueue)

  /// The number of a new queue.
  static func nextQueue() -> UInt64 { queues.wrappingAdd(4, ordering: .relaxed).newValue }

  static func target(_ queue: UInt64, _ wait: QueueWait) -> UInt64 { queue + wait.rawValue }

  /// What claims are known by that a target stands for.
  func node(of target: UInt64) -> UInt64 { target >= Self.firstQueue ? target & ~3 : target }

  /// What a claim takes or wants out of one pool.
  struct Place {
    let claim: Int32
    let pool: Int32
    let units: Int32
    /// What the claim wants of the resource in all.
    let demand: Int32
    /// The pool inside of this part, for claims inside of the claim; -1 without.
    var inner: Int32 = -1
    /// The claim's next place.
    var sibling: Int32
    var next: Int32 = -1
    var previous: Int32 = -1
  }

  struct Pool {
    let capacity: Int32
    /// The resource that it is a part of: itself, if it is the whole.
    let resource: Int32
    /// The claim that it is inside of; -1 for a whole resource.
    let owner: Int32
    var used: Int32 = 0
    /// How many places of claims there are, whatever state these are in.
    var places: Int32 = 0
    var head: Int32 = -1
    var tail: Int32 = -1
    /// How many of those in line are connected.
    var connected: Int32 = 0
    /// The first of the places that hold units of it.
    var firstHolder: Int32 = -1
    var isPresent = true

    var isVacant: Bool { places == 0 }
  }

  /// A body that waits for runs, and what it holds meanwhile.
  struct Await {
    let holders: [Reference]
    /// The runs on the queue that it waits for of which it is a part itself.
    let idlers: [UInt64]
    /// The runs that are waited for, and the queues.
    var targets: Set<UInt64> = []
  }

  /// Who waits for runs.
  enum AwaitSource {
    case await(UInt64)
    case runs(ClaimRuns)
  }

  /// The last that came in an earlier turn: others of the same turn come behind it.
  var lastInTurn: Reference?
  var claims: ContiguousArray<Claim> = []
  var places: ContiguousArray<Place> = []
  var pools: ContiguousArray<Pool> = []
  var vacantClaims: ContiguousArray<Int32> = []
  var vacantPlaces: ContiguousArray<Int32> = []
  private var vacantPools: ContiguousArray<Int32> = []
  /// Claims that wait inside of holders or of runs; only these, and claims of runs that are waited for, can close a circle.
  var waitingInside: Set<Int32> = []
  /// The same by the numbers of the runs, and of their queues.
  var waitingByNode: [UInt64: Set<Int32>] = [:]
  /// By their numbers.
  var awaits: [UInt64: Await] = [:]
  /// The awaits of each run that is waited for, and of each queue.
  var awaitsByTarget: [UInt64: Set<UInt64>] = [:]
  /// The runs whose bodies wait for their own queue: how many times.
  var idlers: [UInt64: Int] = [:]
  /// How many claims have been looked at in search of places and of circles: for tests of cost.
  var steps = 0
  /// Pools in whose lines somebody may be granted now.
  var poolsToServe: ContiguousArray<Int32> = []
  var nextSerial: UInt64 = 0

  // MARK: Pools

  /// A resource is about to be claimed that nobody claims at this moment.
  mutating func resourceOpened(capacity: Int32) -> Int32 {
    openPool(capacity: capacity, resource: -1, owner: -1)
  }

  mutating func openPool(capacity: Int32, resource: Int32, owner: Int32) -> Int32 {
    let index = vacantPools.popLast() ?? Int32(pools.count)
    let pool = Pool(capacity: capacity, resource: resource < 0 ? index : resource, owner: owner)
    if Int(index) == pools.count { pools.append(pool) } else { pools[Int(index)] = pool }
    return index
  }

  /// Forgets a pool that nobody claims. A whole resource is forgotten by whoever opened it, when it has become vacant.
  mutating func poolClosed(_ pool: Int32) {
    precondition(pools[Int(pool)].isPresent && pools[Int(pool)].isVacant, "ResourceLedger: a pool in use was closed")
    pools[Int(pool)].isPresent = false
    vacantPools.append(pool)
    if vacantPools.count == pools.count, vacantClaims.count == claims.count, claims.count > 1_024 { releaseStorage() }
  }

  private mutating func releaseStorage() {
    (claims, places, pools) = ([], [], [])
    (vacantClaims, vacantPlaces, vacantPools, poolsToServe) = ([], [], [], [])
  }

  // MARK: Claims

  /// Somebody wants all of `demands`, of different resources each.
  ///
  /// - Parameters:
  ///   - demands: What is wanted.
  ///   - ancestors: The claims that it is inside of, innermost first. Those that have ended do not count, unless a claim
  ///     further in is still there.
  ///   - turn: If not now: the serial of a claim, before all later ones of which it comes. For one demand only, so that
  ///     lines agree on the order.
  ///   - runs: The runs that cannot end before it is granted.
  /// - Returns: The claim, which has to be ended in any case; and what becomes of it at first.
  mutating func claimed(
    _ demands: some Sequence<Demand>, inside ancestors: [Reference] = [], before turn: UInt64? = nil,
    for runs: ClaimRuns = ClaimRuns()
  ) -> (claim: Int32, answer: Answer) {
    let claim = makeClaim(inside: effective(ancestors), before: turn, for: runs)
    for demand in demands { addPlaces(for: demand, of: claim) }
    noteOwners(of: claim)
    if canBeGrantedAtOnce(claim) {
      take(claim)
      return (claim, .granted)
    }
    claims[Int(claim)].state = .waiting
    forEachPlace(of: claim) { ledger, place in
      ledger.insert(place, before: turn == nil ? -1 : ledger.first(behind: place))
    }
    if turn != nil { lastInTurn = reference(to: claim) }
    keep(claims[Int(claim)].ancestors, by: 1)
    if claims[Int(claim)].ancestors.isEmpty, awaits.isEmpty {
      noteWaiting(claim, for: [])
      return (claim, .waits([]))
    }
    return (claim, advanced(claim))
  }

  /// A claim has ended that holds one thing, and another takes over what it held under its number: before all who wait for that,
  /// and nobody else's turn is changed.
  ///
  /// - Parameters:
  ///   - claim: The claim.
  ///   - runs: The runs that cannot end before the other has been granted.
  /// - Returns: The other claim; `nil` if the one is inside of others, or something is inside of it or keeps it from ending: then
  ///   nothing has changed.
  mutating func passedOn(_ claim: Int32, to runs: ClaimRuns) -> Reference? {
    let entry = claims[Int(claim)]
    guard entry.state == .granted, entry.inside == 0, entry.keepers == 0, entry.ancestors.isEmpty,
      places[Int(entry.firstPlace)].sibling < 0
    else { return nil }
    let inner = places[Int(entry.firstPlace)].inner
    if inner >= 0 { poolClosed(inner) }
    places[Int(entry.firstPlace)].inner = -1
    claims[Int(claim)].serial = nextSerial
    claims[Int(claim)].runs = runs
    nextSerial += 1
    return reference(to: claim)
  }

  /// A claim has ended, whether it was granted or not.
  ///
  /// - Parameters:
  ///   - claim: The claim.
  ///   - granted: Receives the claims that are granted by that.
  ///   - vacated: Receives the resources that nobody claims any more.
  mutating func ended(_ claim: Int32, granted: inout [Int32], vacated: inout [Int32]) {
    precondition(
      claims[Int(claim)].isPresent && claims[Int(claim)].state != .over, "ResourceLedger: a claim ended twice")
    if claims[Int(claim)].inside > 0 { mark(claim, as: .over) } else { remove(claim, vacated: &vacated) }
    serve(granted: &granted)
  }

  /// Takes a claim out of its lines, or gives back what it holds, and forgets it.
  private mutating func remove(_ claim: Int32, vacated: inout [Int32]) {
    let state = claims[Int(claim)].state
    if state == .waiting { stopWaiting(claim) }
    setKept(claim, false)
    var index = claims[Int(claim)].firstPlace
    while index >= 0 {
      let place = places[Int(index)]
      switch state {
      case .granted, .over: giveBack(index)
      case .waiting: leaveLine(index)
      case .refused: break
      }
      pools[Int(place.pool)].places -= 1
      if place.inner >= 0 { poolClosed(place.inner) }
      let owner = pools[Int(place.pool)].owner
      if owner >= 0 {
        claims[Int(owner)].inside -= 1
        if claims[Int(owner)].state == .over, claims[Int(owner)].inside == 0 { remove(owner, vacated: &vacated) }
      } else if pools[Int(place.pool)].isVacant {
        vacated.append(place.pool)
      }
      if pools[Int(place.pool)].isPresent { poolsToServe.append(place.pool) }
      vacantPlaces.append(index)
      index = place.sibling
    }
    claims[Int(claim)].isPresent = false
    claims[Int(claim)].firstPlace = -1
    vacantClaims.append(claim)
  }

  /// Grants what can be granted, first come first served, where units were given back or a line has moved.
  mutating func serve(granted: inout [Int32]) {
    while let pool = poolsToServe.popLast() {
      while pools[Int(pool)].isPresent, pools[Int(pool)].head >= 0 {
        let claim = places[Int(pools[Int(pool)].head)].claim
        guard isFirstEverywhere(claim), fits(claim) else { break }
        forEachPlace(of: claim) { ledger, place in
          ledger.leaveLine(place)
          let other = ledger.places[Int(place)].pool
          if other != pool { ledger.poolsToServe.append(other) }
        }
        take(claim)
        granted.append(claim)
      }
    }
  }

  // MARK: Granting

  /// Whether a claim that stands in no line may be granted before it does.
  func canBeGrantedAtOnce(_ claim: Int32) -> Bool {
    allPlaces(of: claim) { place in
      let pool = pools[Int(place.pool)]
      return pool.head < 0 && pool.capacity - pool.used >= place.units
    }
  }

  func isFirstEverywhere(_ claim: Int32) -> Bool {
    allPlaces(of: claim) { $0.previous < 0 }
  }

  func fits(_ claim: Int32) -> Bool {
    allPlaces(of: claim) { pools[Int($0.pool)].capacity - pools[Int($0.pool)].used >= $0.units }
  }

  /// A claim has left its lines without having been granted.
  mutating func mark(_ claim: Int32, as state: State) {
    if claims[Int(claim)].state == .waiting { stopWaiting(claim) }
    claims[Int(claim)].state = state
    refreshKept(claim)
  }

  mutating func take(_ claim: Int32) {
    mark(claim, as: .granted)
    forEachPlace(of: claim) { ledger, index in
      let pool = Int(ledger.places[Int(index)].pool)
      ledger.pools[pool].used += ledger.places[Int(index)].units
      let next = ledger.pools[pool].firstHolder
      ledger.places[Int(index)].next = next
      ledger.places[Int(index)].previous = -1
      if next >= 0 { ledger.places[Int(next)].previous = index }
      ledger.pools[pool].firstHolder = index
    }
  }

  private mutating func giveBack(_ index: Int32) {
    let place = places[Int(index)]
    pools[Int(place.pool)].used -= place.units
    if place.previous >= 0 {
      places[Int(place.previous)].next = place.next
    } else {
      pools[Int(place.pool)].firstHolder = place.next
    }
    if place.next >= 0 { places[Int(place.next)].previous = place.previous }
  }
}
