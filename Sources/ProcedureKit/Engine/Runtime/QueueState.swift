/// Internal. What the lock of a queue guards: the machine that decides, the members that its numbers stand for, and what
/// is to be done once the lock has been left.
///
/// Not copyable, since a copy would count a reference to each of its arrays. A function that only reads it, or its machine, may
/// still be handed a copy of all its words, several hundred bytes: so what every visit asks is inlined, and what the short ways
/// of a run ask of the machine.
struct QueueState: ~Copyable {
  /// What is to be done outside of the lock, with the objects that the machine's numbers stood for at that moment.
  enum Effect {
    case addWorker(priority: UInt8)
    case resume(Waiter)
    case grant(SlotHolder)
    case interrupt(QueueWorker)
    case notify([@Sendable () -> Void])
    case finishDecided
    case closeCrew
    case closeEvents
    case tell(ResourceTable.News)
    /// Nothing but to let go of them, which may end the lives of values of the user's.
    case letGo([any ProcedureDependency])
    case call(Place)
  }

  var machine: QueueMachine
  var room: WaitingRoom
  var holders: ContiguousArray<SlotHolder?> = []
  /// Bodies that wait until nothing is left but what waits for the same.
  var idleWaiters: [Waiter] = []
  /// Others, who wait until nothing is left.
  var emptyWaiters: [Waiter] = []
  /// Whether the last reference to the queue itself has gone.
  var isOrphaned = false
  /// Whether nothing can come any more, and everything that could has ended.
  var isClosed = false
  /// Whether runs are cancelled as they come.
  var isDoomed = false
  var crewIsRunning = false
  /// Runs that were decided before their bodies started, and still have to be finished; one task at a time does that, so
  /// that a chain of dependents, each of which finishes the next, is a loop and not a recursion.
  var decided: [DetachedRun] = []
  var isFinishingDecided = false
  /// What runs want that may come by the inbox at this moment: see ``Inbox/Terms``, or ``Inbox/closed``.
  var inboxWish = Inbox.closed
  /// Of what priority they are.
  private var inboxPriority: UInt8 = 0
  /// When what others follow somebody for was granted: those who follow come in that turn.
  private var leadersTurn = ResourceClaim.Turn()
  /// Of what priority the last run was that came otherwise, for which the inbox is opened.
  var usualPriority = TaskPriority.medium.rawValue
  /// Runs that were taken from the inbox and are not admitted yet, from `nextArrival` on.
  private var arrivals: ContiguousArray<DetachedRun?> = []
  private var nextArrival = 0
  /// The priority of a worker that has to be made for a run that came by the inbox.
  var wantedWorker: UInt8?
  /// Readers of events, to be resumed.
  var eventEffects: [EventEffect] = []

  init(machine: QueueMachine, room: WaitingRoom) {
    (self.machine, self.room) = (machine, room)
  }

  // MARK: Arrivals

  /// Whether nothing follows from a run that comes and waits for nothing but a slot: others wait as well, and what they wait
  /// for is on its way.
  @inline(__always)
  private var letsRunsComeUnseen: Bool {
    (!machine.lineIsEmpty || hasArrivals) && machine.lineIsServed && !isDoomed && !room.isLimited
  }

  private var hasArrivals: Bool { nextArrival < arrivals.count }

  /// What runs may want for the inbox to be open to them: nothing, where a line is there; what somebody holds whom they would
  /// follow; ``Inbox/closed`` where it is to be closed.
  @inline(__always)
  var wantedInboxWish: UInt64 {
    let wish = machine.followedWish
    if wish != 0, inboxWish != Inbox.plain || !hasArrivals { return isDoomed ? Inbox.closed : wish }
    return letsRunsComeUnseen ? Inbox.plain : Inbox.closed
  }

  /// Whether those come by the inbox who follow somebody.
  var hasFollowersInbox: Bool { inboxWish != Inbox.plain && inboxWish != Inbox.closed }

  /// Lets those come by the inbox who want this.
  mutating func open(_ inbox: borrowing Inbox, for wish: UInt64) {
    (inboxWish, inboxPriority) = (wish, wish == Inbox.plain ? usualPriority : machine.followedPriority)
    inbox.open(on: Inbox.Terms(priority: inboxPriority, wish: wish, waits: leadersTurn.waits))
  }

  /// Whether something follows from a visit besides.
  @inline(__always)
  var hasAftermath: Bool { wantedInboxWish != inboxWish || !eventEffects.isEmpty || wantedWorker != nil }

  /// The next run that came by the inbox, if any.
  mutating func takeArrival(from inbox: borrowing Inbox) -> DetachedRun? {
    guard inboxWish != Inbox.closed else { return nil }
    refillArrivals(from: inbox)
    guard nextArrival < arrivals.count else { return nil }
    nextArrival += 1
    return arrivals[nextArrival - 1].take()
  }

  /// Takes what has come by the inbox, unless something is left of what was taken before.
  mutating func refillArrivals(from inbox: borrowing Inbox) {
    guard nextArrival == arrivals.count else { return }
    nextArrival = 0
    arrivals.removeAll(keepingCapacity: true)
    inbox.takeAll(&arrivals)
  }

  /// For tests: for how many arrivals there is memory.
  var arrivalCapacity: Int { arrivals.capacity }

  /// Gives the memory of many arrivals back. Only where nothing is left of them and the inbox is closed.
  mutating func releaseArrivals(of inbox: borrowing Inbox) {
    inbox.releaseStorage()
    if arrivals.capacity > Inbox.mostKept { arrivals = [] }
  }

  /// Whether a run that came by the inbox may come before anybody who stands in line, or nobody does. It is not enough to look
  /// at the first of these: a worker may find several unable to go on, and give free slots to more than one.
  var arrivalMayBeNext: Bool {
    inboxWish == Inbox.plain && machine.leastPriority.map { $0 < inboxPriority } ?? true
  }

  // MARK: Members

  subscript(holder: SlotHolder) -> QueueMachine.Member {
    machine.members[Int(holder.member)]
  }

  /// Whether a holder stands in line for the slot that it had lent.
  func wantsSlotBack(_ holder: SlotHolder) -> Bool {
    holder.member >= 0 && machine.isReturning(holder.member)
  }

  /// Gives a holder its number.
  mutating func seat(_ holder: SlotHolder, at member: Int32) {
    while holders.count <= Int(member) { holders.append(nil) }
    holders[Int(member)] = holder
    holder.member = member
  }

  /// Takes a holder's number away, of which the machine knows.
  mutating func forget(_ holder: SlotHolder) {
    holders[Int(holder.member)] = nil
    holder.member = -1
  }

  /// Gives a holder's number to another.
  mutating func exchange(_ holder: SlotHolder, for other: SlotHolder) {
    holders[Int(holder.member)] = other
    other.member = holder.member
    holder.member = -1
  }

  /// Takes a holder's number away; the machine is told by the caller.
  mutating func unseat(_ holder: SlotHolder, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]) {
    if let run = holder as? Run, run.claim != nil { endClaim(of: run, &actions, &effects) }
    machine.left(holder.member, &actions)
    resolve(&actions, &effects)
    forget(holder)
    if machine.members.isEmpty { holders = [] }
  }

  /// Turns the machine's actions into effects.
  mutating func resolve(_ actions: inout [QueueMachine.Action], _ effects: inout [Effect]) {
    guard !actions.isEmpty else { return }
    let pending = actions
    actions.removeAll()
    for action in pending {
      switch action {
      case .addWorker(let priority): effects.append(.addWorker(priority: priority))
      case .wake(let member): wake(holders[Int(member)], &effects)
      case .interrupt(let member): interrupt(holders[Int(member)], &effects)
      case .finish(let member):
        guard let run = holders[Int(member)]?.detachedRun else { continue }
        decided.append(run)
        if !isFinishingDecided { effects.append(.finishDecided) }
        isFinishingDecided = true
      case .giveBackResources(let member):
        if let run = holders[Int(member)] as? Run { endClaim(of: run, &actions, &effects) }
      case .claimForFollowers: claimForFollowers(puttingOff: machine.isSuspended, &actions, &effects)
      }
    }
    if !actions.isEmpty { resolve(&actions, &effects) }
  }

  // MARK: Following

  /// What a run is known by that it wants exactly this alone, among those that may stand behind one that holds it; 0 if it has
  /// to claim it, since others have come to wait for it elsewhere.
  @inline(__always)
  func wish(of run: DetachedRun) -> UInt64 {
    guard let entry = run.resources?.wholeEntry else { return 0 }
    let isWaitedFor =
      machine.followedWish == entry.identifier && entry.waitCount != leadersTurn.waits
    return isWaitedFor ? 0 : entry.identifier
  }

  /// A run holds all that it wants, and executes, or stands in line for that: others may follow it, if that is one thing, nobody
  /// has come to wait for that, and nothing but the body itself comes before its end.
  mutating func leadStarted(_ run: DetachedRun) {
    guard let turn = run.claim?.turn, let entry = run.resources?.wholeEntry, entry.waitCount == turn.waits, run.isBare,
      run.parent == nil, !room.isLimited
    else { return }
    if machine.leadStarted(run.member, wish: entry.identifier) { leadersTurn = turn }
  }

  /// A run passes on what it holds to another that follows it, with the priority of those who wait for that elsewhere.
  ///
  /// - Returns: The priority of the other; `nil` if nothing is passed on, and nothing has changed.
  mutating func passOn(_ run: DetachedRun, to next: DetachedRun) -> UInt8? {
    // With its own, and not what it was raised to: that is nobody's business who comes after it.
    guard let claim = run.claim.take() else { return nil }
    guard
      let priority = ResourceBook.shared.passOn(
        claim, to: next, of: next.identity, priority: next.priority, for: next.claimRuns())
    else {
      run.claim = claim
      return nil
    }
    next.claim = claim
    if next.member >= 0 { _ = machine.raised(next.member, to: priority) }
    return priority
  }

  /// A run is about to leave that others follow, and its worker does not go straight on with the first of them: has that one
  /// stand in line with what the run held.
  ///
  /// - Returns: Whether it does; if not, nothing has changed.
  mutating func leadPassedOn(by run: DetachedRun) -> Bool {
    guard !followersAreToStandInLine, let next = machine.firstFollower,
      let follower = holders[Int(next)]?.detachedRun, passOn(run, to: follower) != nil
    else { return false }
    machine.leadPassedOn(to: next)
    return true
  }

  /// A run is about to leave, passes nothing on, and all who follow it have been admitted.
  mutating func leadEnds(_ actions: inout [QueueMachine.Action], _ effects: inout [Effect]) {
    let isPutOff = followersAreToStandInLine
    machine.followingEnded()
    claimForFollowers(puttingOff: isPutOff, &actions, &effects)
  }

  @inline(__always)
  private var followersAreToStandInLine: Bool { machine.isSuspended || machine.followersAreOvertaken }

  /// Claims what those want who have followed, in the turn of the leader; or leaves that for later.
  ///
  /// - Complexity: O(n) for n who have followed, each of which does so once.
  private mutating func claimForFollowers(
    puttingOff isPutOff: Bool, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) {
    while let member = machine.nextToClaim() {
      guard let run = holders[Int(member)]?.detachedRun, let wants = run.resources else {
        preconditionFailure("QueueState: somebody followed who wants nothing")
      }
      guard !isPutOff else {
        machine.claimPutOff(member, wish: wants.wish)
        continue
      }
      if claimResources(for: run, wants, inTurn: leadersTurn, &actions, &effects) {
        machine.resourcesHeldAtOnce(member, wish: wants.wish, &actions)
      }
    }
  }

  // MARK: Resources

  /// Claims what a run wants to hold, now that it has a slot for its body, or has followed one that held it.
  ///
  /// - Returns: Whether it holds it, and keeps the slot.
  mutating func claimResources(
    for run: Run, _ wants: ResourceDemands, inTurn turn: ResourceClaim.Turn? = nil,
    _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) -> Bool {
    let claim = ResourceClaim(
      wants, inside: run.parent?.hold, of: run.identity, for: run, priority: self[run].priority)
    run.claim = claim
    let runs = run.claimRuns(room: room.isLimited ? room.limit : 0)
    switch ResourceBook.shared.place(claim, inTurn: turn, for: runs) {
    case .granted: return true
    case .waits(let news):
      machine.resourcesAwaited(run.member, &actions)
      tell(news, on: run.core, &actions, &effects)
    case .refused(let circle): refuseResources(to: run, circle, &actions, &effects)
    }
    return false
  }

  mutating func refuseResources(
    to run: Run, _ circle: [ExclusionWait], _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) {
    guard run.member >= 0, machine.resourcesRefused(run.member, &actions) else { return }
    run.refused(by: ProcedureError.exclusionDeadlock(procedure: run.identity, circle: circle))
  }

  /// What a run has waited for is there.
  mutating func grantResources(
    to run: Run, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) {
    guard run.member >= 0, !machine.resourcesGranted(run.member, &actions) else { return }
    endClaim(of: run, &actions, &effects)
  }

  /// Gives back what a run holds, or withdraws its claim. Runs of the same queue that come next take over at once.
  mutating func endClaim(of run: Run, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]) {
    guard let claim = run.claim.take() else { return }
    tell(ResourceBook.shared.end(ResourceHold(claim)), on: run.core, &actions, &effects)
  }

  /// Tells runs of this queue at once, and leaves the others for later. Runs that do not keep what they are granted pass it
  /// on, a queue full of them in a loop.
  private mutating func tell(
    _ news: ResourceTable.News, on core: QueueCore, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) {
    guard !news.isEmpty else { return }
    var pending: [ResourceTable.News] = []
    var others = ResourceTable.News()
    var next = news
    while true {
      if !next.refused.isEmpty { others.refused += next.refused }
      if !next.raised.isEmpty { others.raised += next.raised }
      if !next.abandoned.isEmpty { others.abandoned += next.abandoned }
      for claimant in next.granted {
        guard let run = claimant as? Run, run.core === core else {
          others.granted.append(claimant)
          continue
        }
        guard run.member >= 0, !machine.resourcesGranted(run.member, &actions) else { continue }
        if let claim = run.claim.take() { pending.append(ResourceBook.shared.end(ResourceHold(claim))) }
      }
      guard let more = pending.popLast() else { break }
      next = more
    }
    if !others.isEmpty { effects.append(.tell(others)) }
  }

  // MARK: Idle

  /// Lets those in who wait to be admitted, as far as there is room.
  mutating func announceRoom(_ effects: inout [Effect]) {
    while let place = room.next(machine) { effects.append(.call(place)) }
  }

  /// Tells those who wait for it that the queue is idle, if it is.
  mutating func announceIdle(_ effects: inout [Effect]) {
    guard machine.isIdle else { return }
    if !idleWaiters.isEmpty { effects += idleWaiters.takeAll().map(Effect.resume) }
    if machine.isEmpty, !emptyWaiters.isEmpty { effects += emptyWaiters.takeAll().map(Effect.resume) }
    guard machine.isEmpty, isOrphaned || machine.isShutDown, !isClosed else { return }
    effects.append(.closeEvents)
    isClosed = isOrphaned
    if isOrphaned { effects.append(.closeCrew) }
  }

  private func wake(_ holder: SlotHolder?, _ effects: inout [Effect]) {
    guard let holder else { return }
    if holder.takesCall() { return effects.append(.grant(holder)) }
    effects += holder.takeWaiters().map(Effect.resume)
  }

  func interrupt(_ holder: SlotHolder?, _ effects: inout [Effect]) {
    if let worker = holder?.detachedRun?.worker {
      worker.pins += 1
      worker.isSpent = true
      effects.append(.interrupt(worker))
    } else if let run = holder as? StructuredRun {
      var handlers = Array(run.cancellationHandlers.values)
      if let body = run.body { handlers.append { body.cancel() } }
      if !handlers.isEmpty { effects.append(.notify(handlers)) }
    }
  }
}
