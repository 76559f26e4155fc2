/// The place of a member in a `QueueMachine`.
typealias MemberID = Int32

/// The next thing to do for one run.
enum RunStep: Sendable, Equatable {
  /// Wait: another event will advance the run.
  case wait
  /// Nothing: the event came late, since the run has advanced in the meantime.
  case stale
  /// Evaluate its conditions.
  case evaluate
  /// Pause for the delay of its outermost layer.
  case pause
  /// Claim its resources.
  case claim
  /// Give its resources back, and wait: the queue was suspended before the run could start (R2).
  case releaseClaim
  /// Call the hooks and execute the body.
  case start
  /// Settle, decide and publish the outcome.
  case finish
}

/// Slots, the ready queue and the phase of each run of one queue: decides what comes next.
///
/// A late event changes nothing, and returns `stale`; an impossible one traps (`RunEvent`).
///
/// The machine is a value without lock, clock, closure, continuation or run: it knows runs by their places. Each event is a function in the past tense. Its result says what
/// the run concerned does next; `Next` collects what follows for others.
struct QueueMachine: Sendable {
  /// The steps of a run before its start.
  struct Needs: OptionSet, Sendable {
    let rawValue: UInt8
    static var dependencies: Needs { Needs(rawValue: 1) }
    static var conditions: Needs { Needs(rawValue: 2) }
    static var delay: Needs { Needs(rawValue: 4) }
    static var claim: Needs { Needs(rawValue: 8) }
  }

  struct Member: Sendable {
    var priority: UInt8
    var needs: Needs = []
    /// Whether a worker executes the body, and not the task that has called.
    var isDrivenByWorker = false
    /// Whether the run uses the slot of a body around it.
    var usesSlotOfParent = false
    /// Whether the run is a part of a body that executes, and goes on although the queue is suspended.
    var isNested = false
    /// Whether the run counts among those that wait on the queue: added, and not produced.
    var takesRoom = false
    /// The place in the order of admission; 0 for the next one. A part of a body has the order of the body.
    var order: UInt64 = 0
    var phase = RunPhase.pending
    var holdsSlot = false
    /// Whether the run has its resources, and has not started.
    var holdsClaim = false
    /// Whether a body that executes waits for its slot.
    var isReturning = false
    /// How many waits of its body are under way.
    var waits: Int32 = 0
    /// How many waits in its body or a part of it are for the idleness of the queue.
    var idleWaits: Int32 = 0
    /// The number of the key in `fairQueue`; -1 for a run that has no slot of its own, and if the queue has no use for keys.
    var key: Int32 = -1
    /// Whether a run has this place.
    var isPresent: Bool { phase != .finished }
    /// Whether the run is a body that goes on, or a part of one: it comes before those that have not started.
    var isResuming: Bool { isNested || isReturning }
  }

  /// The effects of an event on other runs.
  struct Next: Sendable {
    /// The member that the asking worker executes.
    var execute: MemberID?
    /// Members with their next steps.
    var steps: [(member: MemberID, step: RunStep)] = []
    /// Members whose bodies have their slot back.
    var returned: [MemberID] = []
  }

  var members: ContiguousArray<Member> = []
  private var free: ContiguousArray<MemberID> = []
  /// Runs in line for a slot, parts of bodies not included.
  var ready = ReadyQueue()
  /// Bodies in line for their slot after a wait, and parts of bodies in line for a first slot: these come before `ready`.
  var returning = ReadyQueue()
  /// Runs that a suspended queue holds back.
  private(set) var held = ReadyQueue()
  /// The keys: runs that wait for a slot of their key stand beside both lines.
  var fairQueue: FairQueue
  private(set) var width: Int
  private(set) var slotsTaken = 0
  private(set) var isSuspended: Bool
  private(set) var isWorkerStarting = false
  private(set) var admissionCount: UInt64 = 0
  /// How many runs are there, parts of bodies not counted.
  private(set) var count = 0
  /// How many of those that take room have not started.
  var waitingCount = 0
  /// How many of them wait for the queue to be idle, and so do not keep it from being idle.
  private(set) var idlerCount = 0
  /// How often a run has started, waited, gone on or ended. A queue that is stuck may go on to get runs: their coming does not count.
  private(set) var changeCount: UInt64 = 0

  /// The meters of the runs, while somebody observes or counts them.
  var meters: RunMeters?
  /// The instant of the event, in nanoseconds, which is given while runs are measured: the machine has no clock.
  var now: Int64 = 0

  init(width: Int, isSuspended: Bool, fairQueue: FairQueue = FairQueue()) {
    (self.width, self.fairQueue, self.isSuspended) = (width, fairQueue, isSuspended)
  }

  subscript(member: MemberID) -> Member {
    _read { yield members[Int(member)] }
  }

  // MARK: Admission

  mutating func admitted(_ new: Member, partOf reported: MemberID = -1, _ next: inout Next) -> (MemberID, RunStep) {
    admissionCount += 1
    let member = insert(new)
    meters?.admitted(member, partOf: reported, at: now)
    if new.order == 0 { members[Int(member)].order = admissionCount }
    if !new.isNested { count += 1 }
    countWaiting(member, by: 1)
    if new.needs.contains(.dependencies) { return (member, .wait) }
    return (member, advance(member, &next))
  }

  mutating func dependenciesSettled(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .dependenciesSettled) else { return .stale }
    members[Int(member)].needs.remove(.dependencies)
    return advance(member, &next)
  }

  /// The conditions of a run are about to be evaluated.
  ///
  /// - Returns: Whether to evaluate them; `false` if the run has ended, or the queue was suspended in the meantime.
  mutating func evaluationStarts(_ member: MemberID) -> Bool {
    guard phase(of: member) == .evaluating else { return false }
    return advance(member, members[Int(member)].needs) == .evaluate
  }

  mutating func conditionsSatisfied(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .conditionsSatisfied) else { return .stale }
    members[Int(member)].needs.remove(.conditions)
    return advance(member, &next)
  }

  mutating func pauseEnded(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .pauseEnded) else { return .stale }
    members[Int(member)].needs.remove(.delay)
    return advance(member, &next)
  }

  /// The run has the resources that it claimed. On a suspended queue it gives them back, and claims them again later (R2).
  mutating func claimGranted(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .claimGranted) else { return .stale }
    if isSuspended, !members[Int(member)].isNested {
      hold(member)
      return .releaseClaim
    }
    members[Int(member)].needs.remove(.claim)
    members[Int(member)].holdsClaim = true
    return advance(member, &next)
  }

  /// The claim is refused: the run ends without having started. Returns `false` if the run claims nothing any more.
  mutating func claimRefused(_ member: MemberID) -> Bool {
    guard advances(member, by: .claimRefused) else { return false }
    endBeforeStart(member)
    return true
  }

  private mutating func hold(_ member: MemberID) {
    meters?.dequeued(member)
    move(member, to: .held)
    held.insert(member, priority: members[Int(member)].priority, order: members[Int(member)].order)
  }

  /// The next step of a run that does not wait for anything any more: conditions, the delay, resources, the slot.
  private mutating func advance(_ member: MemberID, _ next: inout Next) -> RunStep {
    let needs = members[Int(member)].needs
    guard !needs.isEmpty else { return becomeReady(member, &next) }
    return advance(member, needs)
  }

  private mutating func advance(_ member: MemberID, _ needs: Needs) -> RunStep {
    if isSuspended, !members[Int(member)].isNested, needs != .delay {
      hold(member)
      return .wait
    }
    if needs.contains(.conditions) {
      move(member, to: .evaluating)
      return .evaluate
    }
    if needs.contains(.delay) {
      move(member, to: .pausing)
      return .pause
    }
    move(member, to: .claiming)
    return .claim
  }

  private mutating func becomeReady(_ member: MemberID, _ next: inout Next) -> RunStep {
    if members[Int(member)].usesSlotOfParent {
      move(member, to: .starting)
      return .start
    }
    if !members[Int(member)].isDrivenByWorker, nextForSlot(newcomer: member) == member {
      takeSlot(member)
      start(member)
      return .start
    }
    // No slot is free for the run, or it waits for a worker.
    move(member, to: .ready)
    enqueue(member)
    return .wait
  }

  private mutating func takeSlot(_ member: MemberID) {
    slotsTaken += 1
    members[Int(member)].holdsSlot = true
    meters?.slotTaken(member, at: now)
    let key = members[Int(member)].key
    guard key >= 0 else { return }
    let starts = !members[Int(member)].isNested && members[Int(member)].phase.isBeforeStart
    fairQueue.slotTaken(key, startsWith: starts ? members[Int(member)].priority : nil)
    keyChanged(key)
  }

  private mutating func start(_ member: MemberID) {
    move(member, to: .starting)
    members[Int(member)].holdsClaim = false
    countWaiting(member, by: -1)
  }

  // MARK: The body (Q3)

  /// The hooks were called, and the body executes now.
  mutating func bodyStarted(_ member: MemberID) {
    _ = advances(member, by: .bodyStarted)
    move(member, to: .executing)
  }

  /// A body waits for something: its slot is lent (Q3).
  mutating func waitStarted(_ member: MemberID, _ next: inout Next) {
    members[Int(member)].waits += 1
    changeCount &+= 1
    stopReturning(member, &next)
    giveBackSlot(member, &next)
  }

  /// A wait of a body has ended. The body needs its slot again when the last of its waits ends.
  mutating func waitEnded(_ member: MemberID) {
    members[Int(member)].waits -= 1
    changeCount &+= 1
  }

  /// A body goes on, with its slot. Whether it has one; if not, the body is among those that `Next` returns later.
  mutating func slotNeeded(_ member: MemberID) -> Bool {
    let entry = members[Int(member)]
    let needsSlot = entry.waits == 0 && !entry.holdsSlot && (entry.phase == .starting || entry.phase == .executing)
    if !needsSlot || entry.usesSlotOfParent { return true }
    if entry.isReturning { return false }
    members[Int(member)].isReturning = true
    guard nextForSlot(newcomer: member) == member else {
      enqueue(member)
      return false
    }
    members[Int(member)].isReturning = false
    takeSlot(member)
    return true
  }

  /// A body that stands in line for its slot goes on without one, since it was cancelled.
  mutating func returnGivenUp(_ member: MemberID) {
    guard members[Int(member)].isReturning else { return }
    dequeue(member)
    meters?.dequeued(member)
    members[Int(member)].isReturning = false
    keyChanged(members[Int(member)].key)
  }

  /// A body that stands in line for its slot needs none: its parts go on.
  private mutating func stopReturning(_ member: MemberID, _ next: inout Next) {
    guard members[Int(member)].isReturning else { return }
    returnGivenUp(member)
    next.returned.append(member)
  }

  /// The body pauses, and needs what `needs` says before it goes on.
  mutating func bodyPaused(_ member: MemberID, needs: Needs, _ next: inout Next) {
    _ = advances(member, by: .bodyPaused)
    move(member, to: .pausing)
    members[Int(member)].needs = needs
    countWaiting(member, by: 1)
    giveBackSlot(member, &next)
  }

  // MARK: Idleness

  /// Whether every run that is there waits for the queue to be idle.
  var isIdle: Bool { count == idlerCount }

  /// The body, or a part of it, waits for the queue to be idle.
  mutating func idleWaitStarted(_ member: MemberID) {
    guard member >= 0, !members[Int(member)].isNested else { return }
    members[Int(member)].idleWaits += 1
    if members[Int(member)].idleWaits == 1 { idlerCount += 1 }
  }

  /// A wait for the queue to be idle has ended.
  mutating func idleWaitEnded(_ member: MemberID) {
    guard member >= 0, !members[Int(member)].isNested else { return }
    members[Int(member)].idleWaits -= 1
    if members[Int(member)].idleWaits == 0 { idlerCount -= 1 }
  }

  // MARK: Ending

  /// The run was cancelled, or something has failed that it needs: it ends at once, and leaves every line, unless its body has started.
  ///
  /// - Returns: Whether the run ends without having started.
  mutating func stopRequested(_ member: MemberID) -> Bool {
    guard phase(of: member).isBeforeStart else { return false }
    endBeforeStart(member)
    return true
  }

  private mutating func endBeforeStart(_ member: MemberID) {
    countWaiting(member, by: -1)
    switch members[Int(member)].phase {
    case .held: held.remove(member)
    case .ready:
      dequeue(member)
      keyChanged(members[Int(member)].key)
    default: break
    }
    move(member, to: .finishing)
  }

  /// The body has ended, or has failed to start: the slot is given back. Late if the run ended without having started.
  mutating func bodyEnded(_ member: MemberID, _ next: inout Next) {
    guard advances(member, by: .bodyEnded) else { return }
    move(member, to: .finishing)
    stopReturning(member, &next)
    giveBackSlot(member, &next)
  }

  /// The run is over.
  mutating func finished(_ member: MemberID) {
    _ = advances(member, by: .finished)
    if !members[Int(member)].isNested { count -= 1 }
    if members[Int(member)].idleWaits > 0 { idlerCount -= 1 }
    move(member, to: .finished)
    meters?.left(member)
    if members[Int(member)].key >= 0 { fairQueue.left(members[Int(member)].key) }
    members[Int(member)].order = .max
    free.append(member)
    if count == 0, free.count == members.count, members.count > 4_096 { releaseMemory() }
  }

  /// Gives back the memory of all members, when none is left.
  private mutating func releaseMemory() {
    (members, free) = ([], [])
    ready.releaseMemory()
    returning.releaseMemory()
    held.releaseMemory()
  }

  mutating func giveBackSlot(_ member: MemberID, _ next: inout Next) {
    guard members[Int(member)].holdsSlot else { return }
    members[Int(member)].holdsSlot = false
    meters?.slotGivenBack(member, at: now)
    slotsTaken -= 1
    let key = members[Int(member)].key
    if key >= 0 { fairQueue.slotGivenBack(key) }
    keyChanged(key)
    grantSlots(&next)
  }

  // MARK: Slots (Q1)

  /// Decides which run gets the next slot, and is the only function that reads the width. Constant time for one priority.
  ///
  /// Bodies that resume, and parts of bodies, come before runs that have not started, which wait while the queue is suspended. In each line the
  /// run of the highest priority comes first, and among these the one that was admitted first.
  ///
  /// - Parameter newcomer: A run that does not stand in line yet: it comes behind those that do.
  /// - Returns: The run; `nil` if no slot is free, or no run can have it.
  @inline(__always)
  private func nextForSlot(newcomer: MemberID = -1) -> MemberID? {
    guard slotsTaken < width else { return nil }
    if !returning.isEmpty { return returning.first() }
    let hasNewcomer = newcomer >= 0 && !isKeyFull(newcomer)
    if hasNewcomer, members[Int(newcomer)].isResuming { return newcomer }
    if isSuspended { return nil }
    if !ready.isEmpty { return ready.first() }
    return hasNewcomer ? newcomer : nil
  }

  /// A worker asks for the next body.
  mutating func workerAsked(isStarting: Bool, _ next: inout Next) {
    if isStarting { isWorkerStarting = false }
    grantSlots(hasWorker: true, &next)
  }

  /// Gives free slots to the runs in line, in order.
  ///
  /// - Parameters:
  ///   - hasWorker: Whether a worker asks for a run. Without one, a run for a worker waits, and so do those behind it.
  ///   - next: Receives the runs that have a slot.
  @inline(__always)
  mutating func grantSlots(hasWorker: Bool = false, _ next: inout Next) {
    var hasWorker = hasWorker
    while let member = nextForSlot() {
      let needsWorker = members[Int(member)].isDrivenByWorker && !members[Int(member)].isResuming
      if needsWorker, !hasWorker { return }
      dequeue(member)
      takeSlot(member)
      if members[Int(member)].isReturning {
        members[Int(member)].isReturning = false
        next.returned.append(member)
        continue
      }
      start(member)
      if needsWorker {
        next.execute = member
        hasWorker = false
      } else {
        next.steps.append((member, .start))
      }
    }
  }

  /// Decides, after each event, whether a worker is to be started: at most one is starting at any time.
  @inline(__always)
  mutating func startsWorker() -> Bool {
    guard !isWorkerStarting, let next = nextForSlot(), members[Int(next)].isDrivenByWorker else { return false }
    isWorkerStarting = true
    return true
  }

  // MARK: The queue

  /// The queue was suspended. The runs in line for a slot that hold a claim, which they give back (R2).
  ///
  /// O(n) for n runs in line.
  mutating func suspended() -> [MemberID] {
    isSuspended = true
    let line = fairQueue.isUsed ? fairQueue.members.filter { !members[Int($0)].isResuming } : ready.all
    return line.filter { members[Int($0)].holdsClaim }.map { member in
      dequeue(member)
      keyChanged(members[Int(member)].key)
      members[Int(member)].needs.insert(.claim)
      members[Int(member)].holdsClaim = false
      hold(member)
      return member
    }
  }

  mutating func resumed(_ next: inout Next) {
    isSuspended = false
    while let member = held.first() {
      held.remove(member)
      let step = advance(member, &next)
      if step != .wait { next.steps.append((member, step)) }
    }
    grantSlots(&next)
  }

  mutating func widthChanged(to width: Int, _ next: inout Next) {
    self.width = width
    grantSlots(&next)
  }

  /// The priority of a run that waits was raised. Whether that changed anything (Q7).
  mutating func raised(_ member: MemberID, to priority: UInt8) -> Bool {
    guard members[Int(member)].priority < priority else { return false }
    members[Int(member)].priority = priority
    let (order, key) = (members[Int(member)].order, members[Int(member)].key)
    if key >= 0, fairQueue.isInLine(member) {
      if fairQueue.raised(member, of: key, to: priority) { dequeueHead(member) }
      keyChanged(key)
    } else if ready.contains(member) || returning.contains(member) {
      dequeueHead(member)
      enqueueHead(member, at: order)
    } else if held.contains(member) {
      held.remove(member)
      held.insert(member, priority: priority, order: order)
    }
    return true
  }

  // MARK: Members

  /// The phase of a run. A run that has left the machine, and has no place any more, is finished.
  func phase(of member: MemberID) -> RunPhase { member < 0 ? .finished : members[Int(member)].phase }

  /// Whether an event advances a run; `false` if it comes late. Traps if the event is impossible.
  @inline(__always)
  private func advances(_ member: MemberID, by event: RunEvent) -> Bool { event.advances(phase(of: member)) }

  /// Changes the phase of a run: the only place that does.
  private mutating func move(_ member: MemberID, to phase: RunPhase) {
    let former = members[Int(member)].phase
    assert(former.leads(to: phase), "QueueMachine: \(former) does not lead to \(phase)")
    members[Int(member)].phase = phase
    if meters != nil { meters?.moved(member, to: phase.metricsBucket, at: now) }
    if phase == .pausing || !phase.isBeforeStart { changeCount &+= 1 }
  }

  /// A node of a graph has started or ended.
  mutating func nodeMoved() { changeCount &+= 1 }

  private mutating func insert(_ member: Member) -> MemberID {
    guard let place = free.popLast() else {
      members.append(member)
      return MemberID(members.count - 1)
    }
    members[Int(place)] = member
    return place
  }

  /// The members that are there, in the order of their admission.
  var present: [MemberID] {
    members.indices.lazy.filter { members[$0].isPresent }.map(MemberID.init).sorted {
      members[Int($0)].order < members[Int($1)].order
    }
  }
}
