/// Internal. Decides everything that a queue decides: who is evaluated, who gets a slot, who lends one, when it is idle.
///
/// A pure value. It knows its members by small integers, which are used again once a member has left; whoever holds one
/// knows that it has. Everything that waits for a slot stands in one order: higher priority first, then order of
/// admission. What a member runs inherits its order, so that work under way is not overtaken by work that came later.
///
/// A free slot goes, in this order, to a member that lent its own and wants to go on; to the first in the ready list.
///
/// What is stored here changes by the functions of this type only, which are in the files of its name.
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

  var members: ContiguousArray<Member> = []
  private var vacant: ContiguousArray<Int32> = []
  var ready = ReadyList()
  var returning = ReadyList()
  var evaluations = ReadyList()
  var endings = ReadyList()
  /// What those who stand in line want alone, or hold already, where all of them want exactly the same; 0 otherwise, and for nothing.
  var lineWish: UInt64 = 0
  var following = Following()
  var slots: SlotPool
  var isSuspended: Bool
  var isShutDown = false
  /// Whether a worker has been ordered that has not asked for work yet. One at a time: each that starts orders the next.
  var workerIsStarting = false
  /// Whether a worker that has found nothing to do is about to look again. One at a time; none is ordered meanwhile.
  var workerLingers = false
  private var nextOrder: UInt64 = 0
  /// How many of those that count wait to be started.
  var waiting = 0
  var runs = 0
  /// Members that have come to stand in line while the queue is suspended, and go on with what they have once it resumes:
  /// so that resuming need not look at all that wait.
  var stalled: Set<Int32> = []
  /// By member: how many tasks inside its body pause between two attempts.
  var pauses: [Int32: Int] = [:]
  /// By member: how many tasks inside its body wait until the rest of the queue is idle.
  var idleWaits: [Int32: Int] = [:]

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
  @inline(__always)
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

  mutating func place(_ member: Member) -> Int32 {
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
    guard !isSuspended, !workerIsComing, slots.hasFree else { return (index, false) }
    // All that came before has found its slots, or there would be none.
    workerIsStarting = true
    return (index, true)
  }

  /// Whether nothing follows from a run that `addedAtOnce` admits where others stand in line, unless it comes before them:
  /// what these wait for is on its way.
  var lineIsServed: Bool { !isShutDown && !isSuspended && (workerIsComing || !slots.hasFree) }

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
  func mayBeSucceeded(_ index: Int32) -> Bool {
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
  mutating func finished(_ index: Int32) {
    members[Int(index)].lifecycle.bodyEnded()
    members[Int(index)].lifecycle.finished()
  }

  /// A task that the body of a member has left behind may still pause.
  private mutating func forget(_ index: Int32) {
    if !pauses.isEmpty { pauses[index] = nil }
    if !stalled.isEmpty { stalled.remove(index) }
  }

  mutating func vacate(_ index: Int32) {
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
}
