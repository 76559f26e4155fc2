/// Internal. Decides everything that a queue decides: who is evaluated, who gets a slot, who lends one, when it is idle.
///
/// A pure value. It knows its members by small integers, which are used again once a member has left; whoever holds one
/// knows that it has. Everything that waits for a slot stands in one order: higher priority first, then order of
/// admission. What a member runs inherits its order, so that work under way is not overtaken by work that came later.
///
/// A free slot goes, in this order, to a member that lent its own and wants to go on; to the first in the ready list.
struct QueueMachine {
  /// Who executes a member's body.
  enum Kind: Sendable {
    /// One of the queue's workers, once there is a slot.
    case detached
    /// The task that called `run`, which waits for its slot itself.
    case structured
    /// No body of its own: a worker of a graph that runs on the queue, and needs a slot for what it executes.
    case helper
  }

  struct Member {
    let kind: Kind
    var priority: UInt8
    var lifecycle: RunLifecycle
    var hasConditions: Bool
    var resources: Resources
    /// Whether it has to be told of its end by a worker before it leaves.
    let hasEnding: Bool
    var holdsSlot = false
    /// Whether it counts among those that wait to be started.
    var countsAsWaiting = false
    var isPresent = true
    /// How many awaits inside its body have borrowed its slot.
    var loans: Int32 = 0
    let order: UInt64
  }

  /// How far a member is with what it wants to hold while its body executes.
  enum Resources: Sendable {
    case none
    /// To be claimed when the member has a slot, so that nothing is held that nobody uses.
    case wanted
    /// Claimed, and waited for without a slot.
    case awaited
    /// Held. The member comes first wherever it still waits for a slot.
    case held
  }

  /// What a worker that asks for work is to do.
  enum Work: Equatable {
    /// Evaluate this member's conditions, without a slot.
    case evaluate(Int32)
    /// Claim what this member wants to hold; it has a slot. `resourcesTaken`, `resourcesAwaited` or `resourcesRefused` follows.
    case claim(Int32)
    /// Execute this member's body; it holds a slot.
    case execute(Int32)
    /// Carry out this member's ending; its outcome is decided, and it holds nothing.
    case conclude(Int32)
    /// Nothing is there; ask again as if for the first time, after a moment. Until then no other worker is made.
    case linger
    case end
  }

  /// What is to be done outside, after the lock has been left.
  enum Action: Equatable {
    /// Make one more worker, to be started with this priority.
    case addWorker(priority: UInt8)
    /// Tell this member's task that its wait is over, with a slot or without one.
    case wake(Int32)
    /// Tell this member's body that it has been cancelled.
    case interrupt(Int32)
    /// This member was decided before its body started: finish it.
    case finish(Int32)
    /// Give back what this member holds although its body has not started.
    case giveBackResources(Int32)
    /// Nobody is followed any more: claim what those want who did, each `nextToClaim`, in the turns in which they came.
    case claimForFollowers
  }

  private(set) var members: ContiguousArray<Member> = []
  private var vacant: ContiguousArray<Int32> = []
  private var ready = ReadyList()
  private var returning = ReadyList()
  private var evaluations = ReadyList()
  private var endings = ReadyList()
  /// What those who stand in line want alone, or hold already, where all of them want exactly the same; 0 otherwise, and for nothing.
  private var lineWish: UInt64 = 0
  private var following = Following()
  private(set) var slots: SlotPool
  private(set) var isSuspended: Bool
  private(set) var isShutDown = false
  /// Whether a worker has been ordered that has not asked for work yet. One at a time: each that starts orders the next.
  private(set) var workerIsStarting = false
  private var nextOrder: UInt64 = 0
  /// How many of those that count wait to be started.
  private(set) var waiting = 0
  private var runs = 0
  /// Members that have come to stand in line while the queue is suspended, and go on with what they have once it resumes:
  /// so that resuming need not look at all that wait.
  private(set) var stalled: Set<Int32> = []
  /// By member: how many tasks inside its body pause between two attempts.
  private var pauses: [Int32: Int] = [:]
  /// By member: how many tasks inside its body wait until the rest of the queue is idle.
  private var idleWaits: [Int32: Int] = [:]

  init(width: Int, isSuspended: Bool) {
    slots = SlotPool(width: width)
    self.isSuspended = isSuspended
  }

  /// Whether no run is left except those that wait for exactly that from inside their bodies.
  var isIdle: Bool { runs == idleWaits.count }

  /// Whether no run is left at all.
  var isEmpty: Bool { runs == 0 }

  /// Whether work that holds a slot has to ask before it starts the next piece.
  var isGated: Bool { isSuspended || slots.isOverdrawn || !ready.isEmpty || !returning.isEmpty }

  /// A priority below which nobody's is who stands in line; `nil` if nobody does.
  var leastPriority: UInt8? { ready.leastPriority }

  /// Whether nobody stands in line.
  var lineIsEmpty: Bool { ready.isEmpty }

  /// Whether a member waits in one of the lists.
  func isListed(_ member: Int32) -> Bool {
    ready.contains(member) || returning.contains(member) || evaluations.contains(member)
      || following.line.contains(member)
  }

  // MARK: Coming and going

  /// A member came. What belongs to work under way brings that work's order with it.
  ///
  /// With `claimsAtOnce`, a member that wants resources and would have the next free slot has it now, if it stands to be
  /// claimed for: `resourcesHeldAtOnce`, `resourcesAwaited` or `resourcesRefused` follows. So no worker is made for what
  /// finds its resources taken.
  mutating func admitted(
    _ kind: Kind, priority: UInt8, inheriting order: UInt64? = nil, hasDependencies: Bool = false,
    hasConditions: Bool = false, hasResources: Bool = false, hasEnding: Bool = false,
    countsAsWaiting: Bool = false, claimsAtOnce: Bool = false, _ actions: inout [Action]
  ) -> Int32 {
    let position = order ?? nextOrder
    if order == nil { nextOrder += 1 }
    var member = Member(
      kind: kind, priority: priority, lifecycle: RunLifecycle(hasDependencies: hasDependencies),
      hasConditions: hasConditions, resources: hasResources ? .wanted : .none, hasEnding: hasEnding, order: position)
    member.countsAsWaiting = countsAsWaiting
    if countsAsWaiting { waiting += 1 }
    let index = place(member)
    if kind != .helper { runs += 1 }
    if claimsAtOnce, hasResources, !hasDependencies, !hasConditions, mayClaim(priority, position) {
      _ = members[Int(index)].lifecycle.conditionsSettled(.satisfied)
      takeSlot(for: index)
    } else if !hasDependencies {
      evaluate(index, &actions)
    }
    return index
  }

  /// Whether a detached member that has just come would have the next free slot.
  private func mayClaim(_ priority: UInt8, _ order: UInt64) -> Bool {
    !isSuspended && slots.hasFree && returning.isEmpty && evaluations.isEmpty && endings.isEmpty
      && !ready.hasMember(before: priority, order)
  }

  private mutating func place(_ member: Member) -> Int32 {
    guard let free = vacant.popLast() else {
      members.append(member)
      return Int32(members.count - 1)
    }
    members[Int(free)] = member
    return free
  }

  /// A structured run came that waits for nothing, and has started if there is a slot for it.
  ///
  /// - Returns: Its number; `nil` if it would have to wait, and has not come then.
  mutating func startedAtOnce(priority: UInt8) -> Int32? {
    guard !isShutDown, !isSuspended, slots.hasFree, returning.isEmpty, !ready.hasMember(before: priority, nextOrder)
    else { return nil }
    var member = Member(
      kind: .structured, priority: priority, lifecycle: .executing, hasConditions: false, resources: .none,
      hasEnding: false, order: nextOrder)
    nextOrder += 1
    slots.take()
    member.holdsSlot = true
    runs += 1
    return place(member)
  }

  /// A detached run came that waits for nothing but a slot, and with it for resources, and stands in line now.
  ///
  /// - Parameters:
  ///   - priority: Its priority.
  ///   - wantsResources: Whether it wants any.
  ///   - wish: What it is known by that it wants alone; 0 if it wants something else, or has to claim that in any case.
  ///   - claimsAtOnce: Whether a run that wants resources and would have the next free slot has to claim them at once.
  /// - Returns: Its number, and whether a worker has to be made that executes it; `nil` if the queue has been shut down, or
  ///   the run has to claim at once.
  mutating func addedAtOnce(
    priority: UInt8, wantsResources: Bool = false, wish: UInt64 = 0, claimsAtOnce: Bool = true
  ) -> (member: Int32, needsWorker: Bool)? {
    let follows = wish != 0 && mayFollow(wish, priority)
    guard !isShutDown, !wantsResources || !claimsAtOnce || follows || !mayClaim(priority, nextOrder) else { return nil }
    let member = Member(
      kind: .detached, priority: priority, lifecycle: .waiting, hasConditions: false,
      resources: wantsResources ? .wanted : .none, hasEnding: false, order: nextOrder)
    nextOrder += 1
    runs += 1
    let index = place(member)
    if follows {
      following.line.insert(index, priority: priority, order: member.order)
      return (index, false)
    }
    enterLine(index, wish: wish)
    guard !isSuspended, !workerIsStarting, slots.hasFree else { return (index, false) }
    // All that came before has found its slots, or there would be none.
    workerIsStarting = true
    return (index, true)
  }

  /// Whether nothing follows from a run that `addedAtOnce` admits where others stand in line, unless it comes before them:
  /// what these wait for is on its way.
  var lineIsServed: Bool { !isShutDown && !isSuspended && (workerIsStarting || !slots.hasFree) }

  /// Who would have a detached run's slot next if it were over now and nothing else had to follow.
  ///
  /// - Returns: A member whose body can be executed at once; `nil` if the long way has to be gone.
  @inline(__always)
  func successor(of index: Int32) -> Int32? {
    guard mayBeSucceeded(index), !ready.contains(index), let next = ready.first, isServedByWorker(next) else {
      return nil
    }
    return next
  }

  /// Whether a run that comes now could have the slot of a detached run if that were over.
  @inline(__always)
  func mayBeSucceededByArrival(_ index: Int32) -> Bool { ready.isEmpty && mayBeSucceeded(index) }

  @inline(__always)
  private func mayBeSucceeded(_ index: Int32) -> Bool {
    !isSuspended && !slots.isOverdrawn && returning.isEmpty && evaluations.isEmpty && endings.isEmpty
      && members[Int(index)].holdsSlot && idleWaits.isEmpty
  }

  /// A worker has executed a detached run's body and goes on with that of a run that comes at this moment, of which
  /// `addedAtOnce` and `succeeded` would make the same: it has the number of the one that leaves.
  ///
  /// With `holdsResources`, it has taken over those of the one that leaves, which it follows.
  mutating func succeededByArrival(_ index: Int32, priority: UInt8, holdsResources: Bool = false) {
    finished(index)
    forget(index)
    members[Int(index)] = Member(
      kind: .detached, priority: priority, lifecycle: .executing, hasConditions: false,
      resources: holdsResources ? .held : .none, hasEnding: false, holdsSlot: true, order: nextOrder)
    nextOrder += 1
  }

  /// A `successor` that wants resources claims them, before it has the slot: `resourcesHeldBySuccessor`, `resourcesAwaited` or
  /// `resourcesRefused` follows.
  ///
  /// - Returns: Whether it does; if not, it wants none or holds them.
  mutating func successorClaims(_ index: Int32) -> Bool {
    guard members[Int(index)].resources == .wanted else { return false }
    ready.remove(index)
    return true
  }

  /// A `successor` holds all that it wants; `succeeded` follows.
  mutating func resourcesHeldBySuccessor(_ index: Int32) { members[Int(index)].resources = .held }

  /// A worker has executed a detached run's body and goes on with that of its `successor`, in the same slot. Those who come
  /// after that one may have other slots: they may have been granted resources just now, or have waited only behind it.
  mutating func succeeded(_ index: Int32, by next: Int32, _ actions: inout [Action]) {
    finished(index)
    runs -= 1
    ready.discard(next)
    members[Int(next)].holdsSlot = true
    _ = execute(next)
    vacate(index)
    if slots.hasFree { grant(&actions) }
  }

  /// The body of a structured run has ended, and the run with it.
  ///
  /// - Returns: Whether it has left: not if somebody waits for its slot or was lent it.
  mutating func finishedAtOnce(_ index: Int32) -> Bool {
    let member = members[Int(index)]
    guard !isShutDown, !slots.isOverdrawn, ready.isEmpty, returning.isEmpty, evaluations.isEmpty, endings.isEmpty,
      member.holdsSlot, idleWaits.isEmpty
    else { return false }
    finished(index)
    slots.giveBack()
    runs -= 1
    vacate(index)
    return true
  }

  /// The body of a run has ended, and the run with it.
  private mutating func finished(_ index: Int32) {
    members[Int(index)].lifecycle.bodyEnded()
    members[Int(index)].lifecycle.finished()
  }

  /// A task that the body of a member has left behind may still pause.
  private mutating func forget(_ index: Int32) {
    if !pauses.isEmpty { pauses[index] = nil }
    if !stalled.isEmpty { stalled.remove(index) }
  }

  private mutating func vacate(_ index: Int32) {
    forget(index)
    members[Int(index)].isPresent = false
    members[Int(index)].holdsSlot = false
    vacant.append(index)
    if vacant.count == members.count, members.count > 1_024 { releaseStorage() }
  }

  /// A member's outcome has been recorded, or a helper has ended: it leaves, and its index may be used again.
  ///
  /// The slot that it held is free then; `workerAsked`, `loanEnded` or `settled` has to follow, which give it away.
  mutating func left(_ index: Int32, _ actions: inout [Action]) {
    let member = members[Int(index)]
    precondition(member.isPresent, "QueueMachine: a member left twice")
    // Tasks that the body has left behind may still wait for its slot: they go on without one.
    if isListed(index) { actions.append(.wake(index)) }
    returning.discard(index)
    ready.discard(index)
    following.line.discard(index)
    precondition(following.leader != index, "QueueMachine: a member left that others follow")
    if member.holdsSlot { slots.giveBack() }
    if member.kind != .helper {
      members[Int(index)].lifecycle.finished()
      runs -= 1
      if !idleWaits.isEmpty { idleWaits[index] = nil }
    }
    vacate(index)
  }

  private mutating func releaseStorage() {
    members = []
    vacant = []
    stalled = []
    ready.releaseStorage()
    returning.releaseStorage()
    evaluations.releaseStorage()
    endings.releaseStorage()
    following.line.releaseStorage()
  }

  // MARK: A run's way

  mutating func dependenciesSettled(_ index: Int32, _ verdict: RunLifecycle.Verdict, _ actions: inout [Action]) {
    switch members[Int(index)].lifecycle.dependenciesSettled(verdict) {
    case .proceed: evaluate(index, &actions)
    case .finish: finish(index, &actions)
    case .tooLate: break
    }
  }

  private mutating func stoppedWaiting(_ index: Int32) {
    guard members[Int(index)].countsAsWaiting else { return }
    members[Int(index)].countsAsWaiting = false
    waiting -= 1
  }

  /// A detached run was decided before its body started.
  private mutating func finish(_ index: Int32, _ actions: inout [Action]) {
    stoppedWaiting(index)
    guard members[Int(index)].hasEnding else { return actions.append(.finish(index)) }
    concluded(index)
    grant(&actions)
  }

  /// A member that is about to leave has no use for its slot any more. `settled` has to follow.
  mutating func slotReturned(_ index: Int32) {
    giveSlotBack(index)
    leaveLines(index)
  }

  /// A cancelled body does not wait for the slot that it stands in line for.
  private mutating func leaveLines(_ index: Int32) {
    if returning.contains(index) { returning.remove(index) }
    if ready.contains(index) { ready.remove(index) }
  }

  /// The outcome of a detached run with an ending is decided: it gives its slot back, and a worker carries out the ending,
  /// also while the queue is suspended. `workerAsked` or `settled` has to follow.
  mutating func concluded(_ index: Int32) {
    giveSlotBack(index)
    leaveLines(index)
    endings.insert(index, priority: members[Int(index)].priority, order: members[Int(index)].order)
  }

  /// A detached run's conditions wait for a worker, and a structured one's for its task; without any it goes straight on.
  private mutating func evaluate(_ index: Int32, _ actions: inout [Action]) {
    let member = members[Int(index)]
    guard member.hasConditions else { return conditionsSettled(index, .satisfied, &actions) }
    if member.kind == .detached {
      evaluations.insert(index, priority: member.priority, order: member.order)
      grant(&actions)
    }
  }

  /// The task of a structured run is about to evaluate its conditions. Says whether it may; if not, a `wake` follows.
  mutating func evaluationStarted(_ index: Int32) -> Bool {
    guard isSuspended else { return true }
    if !evaluations.contains(index) {
      stalled.insert(index)
      evaluations.insert(index, priority: members[Int(index)].priority, order: members[Int(index)].order)
    }
    return false
  }

  mutating func conditionsSettled(_ index: Int32, _ verdict: RunLifecycle.Verdict, _ actions: inout [Action]) {
    switch members[Int(index)].lifecycle.conditionsSettled(verdict) {
    case .proceed: claimSlot(index, &actions)
    case .finish: if members[Int(index)].kind == .detached { finish(index, &actions) }
    case .tooLate: break
    }
  }

  /// A member that waits itself takes a free slot at once if nobody is before it; everybody else stands in line.
  private mutating func claimSlot(_ index: Int32, _ actions: inout [Action]) {
    let member = members[Int(index)]
    if member.kind != .detached, !isSuspended, slots.hasFree, returning.isEmpty,
      !ready.hasMember(before: rank(of: member), member.order)
    {
      takeSlot(for: index)
    } else {
      enterLine(index)
      grant(&actions)
    }
  }

  private static let firstOfAll = UInt8.max

  private func rank(of member: Member) -> UInt8 {
    member.resources == .held ? Self.firstOfAll : member.priority
  }

  /// Whoever holds resources comes first, since others wait for these.
  private mutating func enterLine(_ index: Int32, wish: UInt64 = 0) {
    let member = members[Int(index)]
    lineWish = ready.isEmpty || lineWish == wish ? wish : 0
    ready.insert(index, priority: rank(of: member), order: member.order)
  }

  // MARK: Resources

  /// A member that has a slot holds now all that it wants.
  ///
  /// - Returns: The execution of its body, for a worker.
  mutating func resourcesTaken(_ index: Int32) -> Work {
    members[Int(index)].resources = .held
    return members[Int(index)].kind == .detached ? execute(index) : .end
  }

  /// A member that came with `claimsAtOnce` holds now all that it wants: a worker is to execute it before all others.
  mutating func resourcesHeldAtOnce(_ index: Int32, wish: UInt64 = 0, _ actions: inout [Action]) {
    members[Int(index)].resources = .held
    giveSlotBack(index)
    enterLine(index, wish: wish)
    grant(&actions)
  }

  /// A member that has a slot, or has followed somebody without one, will claim what it wants later, when it has one: it has no
  /// turn by then but that in line.
  mutating func claimPutOff(_ index: Int32, wish: UInt64 = 0) {
    giveSlotBack(index)
    enterLine(index, wish: wish)
  }

  /// A member has to wait for what it wants to hold, and gives its slot back.
  mutating func resourcesAwaited(_ index: Int32, _ actions: inout [Action]) {
    members[Int(index)].resources = .awaited
    giveSlotBack(index)
    grant(&actions)
  }

  /// What a member waited for is there.
  ///
  /// Says whether it keeps it: not if it has been decided meanwhile, nor while the queue is suspended. `workerAsked` or
  /// `settled` has to follow.
  mutating func resourcesGranted(_ index: Int32, _ actions: inout [Action]) -> Bool {
    guard members[Int(index)].lifecycle.state == .waiting, members[Int(index)].resources == .awaited else {
      return false
    }
    members[Int(index)].resources = isSuspended ? .wanted : .held
    let isKept = !isSuspended
    if isKept, members[Int(index)].kind != .detached, slots.hasFree, returning.isEmpty,
      !ready.hasMember(before: Self.firstOfAll, members[Int(index)].order)
    {
      takeSlot(for: index)
      actions.append(.wake(index))
    } else {
      enterLine(index)
    }
    return isKept
  }

  /// What a member wants cannot be waited for: its run is over without having executed.
  ///
  /// Says whether that decides the run.
  mutating func resourcesRefused(_ index: Int32, _ actions: inout [Action]) -> Bool {
    guard members[Int(index)].lifecycle.resourcesRefused() else { return false }
    giveSlotBack(index)
    if members[Int(index)].kind == .detached { finish(index, &actions) } else { actions.append(.wake(index)) }
    grant(&actions)
    return true
  }

  private mutating func giveSlotBack(_ index: Int32) {
    guard members[Int(index)].holdsSlot else { return }
    members[Int(index)].holdsSlot = false
    slots.giveBack()
  }

  /// The task of a structured run is about to start the body. Says whether it is to.
  mutating func bodyStarted(_ index: Int32) -> Bool {
    members[Int(index)].lifecycle.bodyStarted()
  }

  mutating func bodyEnded(_ index: Int32) {
    members[Int(index)].lifecycle.bodyEnded()
  }

  mutating func cancelRequested(_ index: Int32, _ actions: inout [Action]) {
    let state = members[Int(index)].lifecycle.state
    switch members[Int(index)].lifecycle.cancelRequested() {
    case .nothing: break
    case .body: actions.append(.interrupt(index))
    case .beforeBody:
      let wasListed = isListed(index)
      let wasEvaluating = state == .evaluating && !wasListed
      ready.discard(index)
      evaluations.discard(index)
      following.line.discard(index)
      if members[Int(index)].kind == .detached {
        if wasEvaluating { actions.append(.interrupt(index)) }
        finish(index, &actions)
      } else {
        actions.append(wasListed || members[Int(index)].resources == .awaited ? .wake(index) : .interrupt(index))
      }
      // It may have been first in line, in the way of somebody for whom a slot is free.
      grant(&actions)
    }
  }

  // MARK: Workers

  /// A worker asks what to do, for the first time or again.
  ///
  /// - Parameters:
  ///   - isNew: Whether it has just started, or comes back from lingering.
  ///   - mayLinger: Whether it may stay for a moment if there is nothing to do.
  ///   - actions: What is to be done besides.
  /// - Returns: What it is to do.
  mutating func workerAsked(isNew: Bool, mayLinger: Bool = false, _ actions: inout [Action]) -> Work {
    if isNew { workerIsStarting = false }
    var work = Work.end
    if let index = endings.popFirst() {
      work = .conclude(index)
    } else if !isSuspended {
      if let index = evaluations.first {
        // Those whose own tasks evaluate were woken when the queue resumed.
        evaluations.remove(index)
        work = .evaluate(index)
      } else {
        grantWaiting(&actions)
        if slots.hasFree, let index = ready.first {
          ready.remove(index)
          takeSlot(for: index)
          work = members[Int(index)].resources == .wanted ? .claim(index) : execute(index)
        }
      }
    }
    grant(&actions)
    if work == .end, mayLinger, !workerIsStarting {
      workerIsStarting = true
      return .linger
    }
    return work
  }

  private mutating func execute(_ index: Int32) -> Work {
    if members[Int(index)].lifecycle.bodyStarted() == false {
      preconditionFailure("QueueMachine: a decided member stood in the ready list")
    }
    stoppedWaiting(index)
    return .execute(index)
  }

  /// Whether a worker, and not a task of its own, takes the slot for this member.
  private func isServedByWorker(_ index: Int32) -> Bool {
    members[Int(index)].kind == .detached && members[Int(index)].lifecycle.state == .waiting
  }

  /// Gives free slots to those whose tasks wait for them.
  private mutating func grantWaiting(_ actions: inout [Action]) {
    while slots.hasFree, let index = returning.popFirst() {
      takeSlot(for: index)
      leaveLine(index, &actions)
      actions.append(.wake(index))
    }
    guard !isSuspended else { return }
    while slots.hasFree, let index = ready.first, !isServedByWorker(index) {
      takeSlot(for: index)
      leaveLine(index, &actions)
    }
  }

  private mutating func takeSlot(for index: Int32) {
    precondition(!members[Int(index)].holdsSlot, "QueueMachine: a member was given a second slot")
    slots.take()
    members[Int(index)].holdsSlot = true
  }

  /// A member that stands in line, between two pieces of its work, may start the next.
  private mutating func leaveLine(_ index: Int32, _ actions: inout [Action]) {
    guard ready.contains(index) else { return }
    if isSuspended {
      stalled.insert(index)
      return
    }
    ready.remove(index)
    actions.append(.wake(index))
  }

  /// Nothing more follows at this moment: what is free goes to whoever is next.
  mutating func settled(_ actions: inout [Action]) {
    grant(&actions)
  }

  /// Gives free slots away, and orders a worker where only one more can go on.
  private mutating func grant(_ actions: inout [Action]) {
    grantWaiting(&actions)
    guard !workerIsStarting, let index = endings.first ?? nextForWorker else { return }
    workerIsStarting = true
    actions.append(.addWorker(priority: members[Int(index)].priority))
  }

  private var nextForWorker: Int32? {
    guard !isSuspended else { return nil }
    return evaluations.first ?? (slots.hasFree ? ready.first : nil)
  }

  // MARK: Following

  /// Those who want alone just what one holds, and have come when nobody else waited for that: they need not claim it, nor does
  /// a worker have to look after them, since what that one holds is passed on to them, one after another.
  ///
  /// They follow it as long as nothing else happens to it but that its body ends, or never starts. Otherwise they claim what they
  /// want, in the turns in which they have come; or stand in line for that, where the queue is suspended or others come first.
  private struct Following {
    /// Whom they follow: one that holds, and has a slot or stands in line for one. -1 for nobody.
    var leader: Int32 = -1
    /// What it is known by that the leader holds alone.
    var wish: UInt64 = 0
    /// That of all who come to follow.
    var priority: UInt8 = 0
    var line = ReadyList()
  }

  /// What those may want who come behind the leader, if there is one and nobody else stands in line; 0 otherwise.
  var followedWish: UInt64 {
    guard following.leader >= 0, !isShutDown, !isSuspended else { return 0 }
    return ready.isEmpty || (ready.count == 1 && ready.contains(following.leader)) ? following.wish : 0
  }

  /// The priority of those who may come behind the leader.
  var followedPriority: UInt8 { following.priority }

  private func mayFollow(_ wish: UInt64, _ priority: UInt8) -> Bool {
    followedWish == wish && followedPriority == priority
  }

  /// Whether others may follow this member.
  func leads(_ index: Int32) -> Bool { following.leader == index }

  /// Whether a member stands behind the leader.
  func follows(_ index: Int32) -> Bool { following.line.contains(index) }

  /// The leader, if there is one.
  var leader: Int32? { following.leader < 0 ? nil : following.leader }

  /// The first who follows, if any.
  var firstFollower: Int32? { following.line.first }

  /// A member holds what it wants alone, and nobody has come meanwhile who waits for that elsewhere: others may follow it, unless
  /// another is followed. Those who stand in line do, if all of them may.
  ///
  /// - Returns: Whether others may follow it.
  mutating func leadStarted(_ index: Int32, wish: UInt64) -> Bool {
    guard following.leader < 0 || following.leader == index, !isSuspended else { return false }
    if following.leader < 0 { following.priority = members[Int(index)].priority }
    (following.leader, following.wish) = (index, wish)
    // Not where it stands in line itself, among those who would follow.
    guard lineWish == wish, !ready.contains(index), ready.isOfOnePriority(following.priority) else { return true }
    if following.line.isEmpty { swap(&ready, &following.line) }
    while let next = ready.popFirst() {
      following.line.insert(next, priority: members[Int(next)].priority, order: members[Int(next)].order)
    }
    return true
  }

  /// The leader holds no more what it held, or may not be able to end before those who follow.
  private mutating func followingEnded(_ actions: inout [Action]) {
    following.leader = -1
    if !following.line.isEmpty { actions.append(.claimForFollowers) }
  }

  /// The leader is about to leave, and passes nothing on: if anybody follows, `nextToClaim` has to come until there is none.
  mutating func followingEnded() { following.leader = -1 }

  /// The next of those who followed, to claim what it wants, as a member without a slot that came with `claimsAtOnce`; or to put
  /// that off, on a suspended queue or where others come first.
  mutating func nextToClaim() -> Int32? { following.line.popFirst() }

  /// Whether somebody stands in line before all who follow, and there is no slot for both: so that those who follow, and would
  /// have the leader's slot one after another, have to stand in line.
  var followersAreOvertaken: Bool {
    guard !slots.hasFree, let first = following.line.first else { return false }
    return ready.hasMember(before: members[Int(first)].priority, members[Int(first)].order)
  }

  /// What the leader held has been passed on to the first who follows it: that one stands in line before all others, and leads.
  mutating func leadPassedOn(to next: Int32) {
    following.line.remove(next)
    following.leader = next
    members[Int(next)].resources = .held
    enterLine(next, wish: following.wish)
  }

  /// Whether the first who follows a member can be executed as soon as that has ended.
  func mayBeFollowed(_ index: Int32) -> Bool { leads(index) && ready.isEmpty && mayBeSucceeded(index) }

  /// A worker has executed the leader's body and goes on with that of the first who follows, which has taken over what that held.
  mutating func succeededByFollower(_ index: Int32, _ next: Int32) {
    finished(index)
    runs -= 1
    following.line.remove(next)
    following.leader = next
    members[Int(next)].resources = .held
    members[Int(next)].holdsSlot = true
    _ = execute(next)
    vacate(index)
  }

  // MARK: Loans

  /// The body of a member awaits something on the same queue: whatever is next may have its slot meanwhile.
  ///
  /// While any part of a body awaits, the body holds no slot, since what it awaits may need it. A body of several tasks, of
  /// which one awaits and another works, works without one.
  mutating func loanStarted(_ index: Int32, _ actions: inout [Action]) {
    members[Int(index)].loans += 1
    if leads(index) { followingEnded(&actions) }
    leaveLine(index, &actions)
    if returning.contains(index) {
      returning.remove(index)
      actions.append(.wake(index))
    }
    if members[Int(index)].holdsSlot {
      giveSlotBack(index)
      grant(&actions)
    }
  }

  /// Such an await is over. Says whether the body may go on at once; if not, a `wake` follows.
  mutating func loanEnded(_ index: Int32, _ actions: inout [Action]) -> Bool {
    members[Int(index)].loans -= 1
    precondition(members[Int(index)].loans >= 0, "QueueMachine: more loans ended than had started")
    guard members[Int(index)].loans == 0 else { return true }
    // Whoever waits after the body has ended, in a hook say, has no slot to get back.
    if members[Int(index)].lifecycle.state == .finishing { return true }
    if slots.hasFree, returning.isEmpty {
      takeSlot(for: index)
      leaveLine(index, &actions)
      return true
    }
    returning.insert(index, priority: 0, order: 0)
    grant(&actions)
    return !returning.contains(index)
  }

  /// A task of a member is about to start its next piece of work. Says whether it may; if not, the member has given its
  /// slot back and stands in line, and a `wake` follows.
  mutating func pieceStarted(_ index: Int32, _ actions: inout [Action]) -> Bool {
    let member = members[Int(index)]
    guard !ready.contains(index) else { return false }
    let yields =
      member.holdsSlot
      && (slots.isOverdrawn || !returning.isEmpty || ready.hasMember(before: rank(of: member), member.order))
    guard isSuspended || yields else { return true }
    if leads(index) { followingEnded(&actions) }
    giveSlotBack(index)
    if isSuspended {
      stalled.insert(index)
      if holdsUnusedResources(index) { giveBackResources(index, &actions) }
    }
    enterLine(index)
    grant(&actions)
    return !ready.contains(index)
  }

  /// Whether a member stands in line for its turn.
  func isInLine(_ index: Int32) -> Bool { ready.contains(index) }

  /// Whether a member wants the slot back that it lent.
  func isReturning(_ index: Int32) -> Bool { returning.contains(index) }

  // MARK: Pauses

  /// The body of a member, or a part of it, waits before it starts anew. What it lends and gives back is told separately.
  mutating func pauseStarted(_ index: Int32, _ actions: inout [Action]) {
    if leads(index) { followingEnded(&actions) }
    pauses[index, default: 0] += 1
    if members[Int(index)].lifecycle.state == .executing { members[Int(index)].lifecycle.paused() }
  }

  mutating func pauseEnded(_ index: Int32) {
    guard let count = pauses[index] else { preconditionFailure("QueueMachine: more pauses ended than had started") }
    pauses[index] = count == 1 ? nil : count - 1
    if count == 1, members[Int(index)].lifecycle.state == .pausing {
      members[Int(index)].lifecycle.resumed(at: .executing)
    }
  }

  // MARK: Waiting for idle

  /// How many tasks inside a member's body wait until the rest of the queue is idle.
  func idleWaits(of index: Int32) -> Int { idleWaits[index] ?? 0 }

  /// A body of this member waits until the rest of the queue is idle.
  mutating func idleWaitStarted(_ index: Int32) {
    idleWaits[index, default: 0] += 1
  }

  mutating func idleWaitEnded(_ index: Int32) {
    if let count = idleWaits[index] { idleWaits[index] = count == 1 ? nil : count - 1 }
  }

  // MARK: The queue as a whole

  mutating func suspended(_ actions: inout [Action]) {
    isSuspended = true
    for index in ready.members(ofPriority: Self.firstOfAll) where holdsUnusedResources(index) {
      if leads(index) { followingEnded(&actions) }
      ready.remove(index)
      giveBackResources(index, &actions)
      enterLine(index)
    }
  }

  private func holdsUnusedResources(_ index: Int32) -> Bool {
    members[Int(index)].resources == .held && members[Int(index)].lifecycle.state == .waiting
  }

  /// What is held and not used yet would be kept from others for as long as the queue is suspended: it is claimed again.
  private mutating func giveBackResources(_ index: Int32, _ actions: inout [Action]) {
    members[Int(index)].resources = .wanted
    actions.append(.giveBackResources(index))
  }

  mutating func resumed(_ actions: inout [Action]) {
    guard isSuspended else { return }
    isSuspended = false
    // In an order that is the same each time, which that of a set is not.
    let stalled = stalled.sorted()
    self.stalled = []
    for index in stalled {
      let member = members[Int(index)]
      // Structured runs evaluate their conditions in their own tasks.
      if member.kind == .structured, evaluations.contains(index) {
        evaluations.remove(index)
        actions.append(.wake(index))
      }
      // What has a slot, or lends it, stood in line only for the queue to resume.
      if member.holdsSlot || member.loans > 0 { leaveLine(index, &actions) }
    }
    grant(&actions)
  }

  mutating func widthChanged(to width: Int, _ actions: inout [Action]) {
    slots.resize(to: width)
    grant(&actions)
  }

  /// Something of higher priority waits for this member: wherever it stands in line, it stands there with that.
  ///
  /// - Returns: Whether it had a lower one.
  mutating func raised(_ index: Int32, to priority: UInt8) -> Bool {
    let member = members[Int(index)]
    guard member.priority < priority else { return false }
    if following.line.contains(index) {
      following.line.remove(index)
      following.line.insert(index, priority: priority, order: member.order)
    }
    members[Int(index)].priority = priority
    if ready.contains(index) {
      ready.remove(index)
      enterLine(index)
    }
    if evaluations.contains(index) {
      evaluations.remove(index)
      evaluations.insert(index, priority: priority, order: member.order)
    }
    return true
  }

  mutating func shutDown() {
    isShutDown = true
  }

  /// Every present run, in order of admission.
  var runIndices: [Int32] {
    members.indices.filter { members[$0].isPresent && members[$0].kind != .helper }
      .sorted { members[$0].order < members[$1].order }.map(Int32.init)
  }
}
