/// The place of a run in a `QueueMachine`. After the run ends, a later run can take its place.
typealias MemberID = Int32

/// The step that the driver of a run takes next.
enum RunStep: Sendable, Equatable {
  /// Wait: another event will advance the run.
  case wait
  /// Do nothing: the event was late, because the run had already advanced.
  case stale
  /// Evaluate the conditions (K1).
  case evaluate
  /// Pause for the delay of the layer.
  case pause
  /// Claim the resources (R1).
  case claim
  /// Release the resources and wait: before the run could start, the queue was suspended or a dependency was added (R2).
  case releaseClaim
  /// Call the hooks and execute the body.
  case start
  /// Await the children, then decide and publish the outcome.
  case finish
}

/// A state machine that decides what each run on a queue does next. It is a value that contains the slots, the ready queue, and the phase
/// of each run.
///
/// Each event is a function named in the past tense. It returns the next step of the run that the event is about, and `Next` receives the
/// effects on other runs. A late event changes nothing and returns `stale`; an impossible event traps (`RunEvent`).
///
/// The machine contains no lock, clock, closure, continuation, or run. It identifies runs by their places.
struct QueueMachine: Sendable {
  /// The steps that a run has to take before it starts.
  struct Needs: OptionSet, Sendable {
    let rawValue: UInt8
    static var dependencies: Needs { Needs(rawValue: 1) }
    static var conditions: Needs { Needs(rawValue: 2) }
    static var delay: Needs { Needs(rawValue: 4) }
    static var claim: Needs { Needs(rawValue: 8) }
  }

  /// The state of a run's slot.
  enum Slot: UInt8, Sendable {
    case none
    /// The body has started, and is waiting to reacquire its slot (Q3).
    case returning
    case held
  }

  /// The state of one run in the machine.
  struct Member: Sendable {
    var priority: UInt8
    /// The level to which the run has risen since it started waiting for a slot; 0 if it is not waiting for one
    /// (`QueueMachine+SlotWaits.swift`).
    var risenPriority: UInt8 = 0
    var needs: Needs = []
    /// Whether a worker, rather than the caller's task, executes the body.
    var isDrivenByWorker = false
    /// Whether the run takes no slot, because it uses the slot of an enclosing body, or belongs to a cancelled body (C7).
    var takesNoSlot = false
    /// Whether the run belongs to an enclosing body. A suspended queue does not hold back a nested run, because the body is already
    /// executing (Q2).
    var isNested = false
    /// Whether the run counts towards the limit on waiting runs, because it was added to the queue rather than produced by a body.
    var takesRoom = false
    /// The position in the order of admission; 0 to request the next position. A nested run has the position of the enclosing body.
    var order: UInt64 = 0
    var phase = RunPhase.pending
    var slot = Slot.none
    /// Whether the run claims resources before it starts. If so, it holds them while it is ready.
    var claims = false
    /// Whether the body has been called. If so, a run that is waiting for a slot will continue the body or execute it again.
    var hasStarted = false
    /// The number of waits in progress in the body.
    var waits: Int32 = 0
    /// The number of calls, in the body and its nested runs, that are waiting for the queue to become idle.
    var idleWaits: Int32 = 0
    /// The number that identifies the key in `fairQueue`; -1 if the run uses another run's slot, or if the queue does not use keys. If no
    /// run occupies the place, this is the next free place.
    var key: Int32 = -1
    /// The priority that determines the place of the run among those that are waiting for a slot.
    var waitingPriority: UInt8 { max(priority, risenPriority) }
    /// Whether a run occupies this place.
    var isPresent: Bool { phase != .finished }
    var holdsSlot: Bool { slot == .held }
    var isReturning: Bool { slot == .returning }
    /// Whether the run holds its resources but has not started.
    var holdsClaim: Bool { claims && phase == .ready }
  }

  /// The effects of an event on other runs.
  struct Next: Sendable {
    /// The run that the requesting worker executes next, if any.
    var execute: MemberID?
    /// The runs that are about to advance, each with its next step.
    var steps: [(member: MemberID, step: RunStep)] = []
    /// Runs whose bodies have reacquired their slots.
    var returned: [MemberID] = []
  }

  // The properties that each event uses come first, so that they are on few cache lines.

  var members: ContiguousArray<Member> = []
  /// The place that was freed last; -1 if there is none. The free places form a list.
  private var firstFree: MemberID = -1
  /// Runs, other than nested ones, that need a slot to start.
  var ready = ReadyQueue()
  var width: Int
  var slotsTaken = 0
  private(set) var isSuspended: Bool
  var isWorkerStarting = false
  private(set) var admissionCount: UInt64 = 0
  /// The number of unfinished runs, not including nested runs.
  private(set) var count = 0
  /// The number of unfinished nested runs.
  private var nestedCount = 0
  /// The number of runs that count towards the limit on waiting runs and have not started.
  var waitingCount = 0
  /// The number of runs whose bodies are waiting for the queue to become idle. The queue is idle when only these runs are unfinished.
  private(set) var idlerCount = 0
  /// The number of times that a run or a node has started, waited, resumed, or ended. Admissions are not counted, because a stalled queue
  /// can still receive runs.
  private(set) var changeCount: UInt64 = 0

  /// Bodies that are waiting to reacquire their slots, and nested runs that are waiting for their first slot. They get slots before the
  /// runs in `ready`.
  var returning = ReadyQueue()
  /// Runs that the suspended queue holds back (Q2).
  var held = ReadyQueue()
  /// The keys of the runs. Only the head of each key's waiting runs is in `ready` or `returning`.
  var fairQueue: FairQueue
  /// The state of the rules about how long runs wait for slots.
  var slotWaits: SlotWaits
  /// The measured times of the runs; `nil` while no subscriber reads events and no totals are collected.
  var meters: RunMeters?
  /// The instant of the current event in nanoseconds.
  ///
  /// The machine has no clock, so the caller sets the instant if runs, or their waits for slots, are measured.
  var now: Int64 = 0

  init(width: Int, isSuspended: Bool, fairQueue: FairQueue = FairQueue(), slotWaits: SlotWaits = SlotWaits()) {
    (self.width, self.isSuspended, self.fairQueue, self.slotWaits) = (width, isSuspended, fairQueue, slotWaits)
  }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      width: configuration.maxConcurrentProcedures, isSuspended: configuration.isSuspended,
      fairQueue: FairQueue(configuration), slotWaits: SlotWaits(configuration))
  }

  @inline(__always) subscript(member: MemberID) -> Member {
    _read { yield members[Int(member)] }
    _modify { yield &members[Int(member)] }
  }

  // MARK: Admission

  /// Records that a run was admitted, and returns its place and its first step. `reported` is the run whose metrics include the times of
  /// the new run.
  mutating func admitted(_ new: Member, partOf reported: MemberID = -1, _ next: inout Next) -> (MemberID, RunStep) {
    admissionCount += 1
    var new = new
    if new.order == 0 { new.order = admissionCount }
    new.claims = new.needs.contains(.claim)
    let member = insert(new)
    meters?.admitted(member, partOf: reported, at: now)
    if new.isNested { nestedCount += 1 } else { count += 1 }
    countWaiting(member, by: 1)
    // The run waits in `pending` until `dependenciesSucceeded` is called (D1).
    if new.needs.contains(.dependencies) { return (member, .wait) }
    return (member, advance(member, &next))
  }

  /// Records that all dependencies of a run succeeded (D1). Returns the next step.
  mutating func dependenciesSucceeded(_ member: MemberID, _ next: inout Next) -> RunStep {
    let isPending = advances(member, by: .dependenciesSucceeded)
    // A dependency that was added during a step can finish before that step ends, so the need is removed even if the run is not pending.
    if phase(of: member).awaitsStart { self[member].needs.remove(.dependencies) }
    return isPending ? advance(member, &next) : .stale
  }

  /// Records that a dependency was added to a run that has not started (D1).
  ///
  /// The run waits for the dependency in `pending`. A run that is evaluating its conditions, pausing, or claiming completes that step
  /// first.
  ///
  /// - Returns: Whether the run held a claim. If so, the caller must release it, and the run claims the resources again later (R2).
  mutating func dependencyAdded(_ member: MemberID) -> Bool {
    let holdsClaim = self[member].holdsClaim
    self[member].needs.insert(.dependencies)
    switch self[member].phase {
    case .held: held.remove(member)
    case .ready:
      dequeue(member)
      if holdsClaim { self[member].needs.insert(.claim) }
    default: return false
    }
    move(member, to: .pending)
    return holdsClaim
  }

  /// Records that the conditions of a run are about to be evaluated.
  ///
  /// - Returns: Whether to evaluate them; `false` if the run has already ended, a dependency has been added (D1), or the queue has been
  ///   suspended and holds the run back (Q2).
  mutating func evaluationStarts(_ member: MemberID) -> Bool {
    guard phase(of: member) == .evaluating else { return false }
    return enterStep(member, for: self[member].needs) == .evaluate
  }

  /// Records that all conditions of a run are satisfied. Returns the next step.
  mutating func conditionsSatisfied(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .conditionsSatisfied) else { return .stale }
    self[member].needs.remove(.conditions)
    return advance(member, &next)
  }

  /// Records that the delay before a run, or the pause between two of its executions, has ended. Returns the next step.
  mutating func pauseEnded(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .pauseEnded) else { return .stale }
    self[member].needs.remove(.delay)
    return advance(member, &next)
  }

  /// Records that the claim of a run was granted.
  ///
  /// On a suspended queue, the run releases the resources, and claims them again when the queue is resumed (R2).
  mutating func claimGranted(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .claimGranted) else { return .stale }
    // A dependency was added while the run was claiming the resources. The run cannot start yet, so it must not hold them (R2).
    if self[member].needs.contains(.dependencies) {
      move(member, to: .pending)
      return .releaseClaim
    }
    // The queue was suspended while the run was waiting for the resources. The run cannot get a slot, so it must not hold them (R2).
    if isHeldBack(member) {
      hold(member)
      return .releaseClaim
    }
    self[member].needs.remove(.claim)
    return advance(member, &next)
  }

  /// Records that the claim of a run was refused, and ends the run without starting it. Returns `false` if the run is no longer claiming
  /// its resources.
  mutating func claimRefused(_ member: MemberID) -> Bool {
    guard advances(member, by: .claimRefused) else { return false }
    finishAtOnce(member)
    return true
  }

  /// Returns whether the queue is suspended and holds this run back (Q2). A nested run belongs to a body that is already executing, so it
  /// continues.
  private func isHeldBack(_ member: MemberID) -> Bool { isSuspended && !self[member].isNested }

  /// Holds a run back until the queue is resumed (Q2).
  private mutating func hold(_ member: MemberID) {
    move(member, to: .held)
    held.insert(member, priority: self[member].priority, order: self[member].order)
  }

  /// Moves a run to its next phase, and returns the step of that phase. A run first evaluates its conditions, and then waits for its delay,
  /// its resources, and its slot, in this order (L1, K1, R2).
  @inline(__always) private mutating func advance(_ member: MemberID, _ next: inout Next) -> RunStep {
    let needs = self[member].needs
    guard !needs.isEmpty else { return becomeReady(member, &next) }
    return enterStep(member, for: needs)
  }

  /// Moves a run to the phase of the next step that it needs. Returns the step, or `wait` if the run cannot take a step yet.
  private mutating func enterStep(_ member: MemberID, for needs: Needs) -> RunStep {
    // A dependency was added during the previous step.
    if needs.contains(.dependencies) {
      move(member, to: .pending)
      return .wait
    }
    // On a suspended queue, a run neither evaluates conditions nor claims resources (Q2, R2). Its delay still elapses if it needs only a
    // slot afterwards.
    if isHeldBack(member), needs != .delay {
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

  /// Handles a run that needs only a slot. Returns `start` if the run has a slot now, and `wait` if it has to wait in the ready queue (Q1).
  @inline(__always) private mutating func becomeReady(_ member: MemberID, _ next: inout Next) -> RunStep {
    if self[member].takesNoSlot {
      move(member, to: .starting)
      return .start
    }
    // A slot is free, no waiting run precedes this one, and the caller's task can execute the body immediately.
    if !self[member].isDrivenByWorker, nextForSlot(newcomer: member) == member {
      takeSlot(member, priority: self[member].priority)
      start(member)
      return .start
    }
    // No slot is free, or the run needs a worker, so it waits in the ready queue.
    move(member, to: .ready)
    enqueue(member)
    return .wait
  }

  /// Starts a run that has its slot. The run no longer counts as waiting.
  @inline(__always) mutating func start(_ member: MemberID) {
    move(member, to: .starting)
    countWaiting(member, by: -1)
  }

  // MARK: The body (Q3)

  /// Records that the hooks have ended and the body is about to execute. Returns whether this is the first execution of the body.
  @discardableResult
  mutating func bodyStarted(_ member: MemberID) -> Bool {
    _ = advances(member, by: .bodyStarted)
    let isFirst = !self[member].hasStarted
    move(member, to: .executing)
    self[member].hasStarted = true
    return isFirst
  }

  /// Records that a body started waiting, and releases its slot (Q3).
  mutating func waitStarted(_ member: MemberID, _ next: inout Next) {
    self[member].waits += 1
    changeCount &+= 1
    stopReturning(member, &next)
    releaseSlot(member, &next)
  }

  /// Records that a wait of a body ended. After the last wait, the body needs its slot again, so the caller must call `slotNeeded` next
  /// (Q3).
  mutating func waitEnded(_ member: MemberID) {
    self[member].waits -= 1
    changeCount &+= 1
  }

  /// Records that a body is resuming and needs its slot (Q3). Returns whether the body can continue; if not, a later event adds the body to
  /// `Next.returned`.
  mutating func slotNeeded(_ member: MemberID) -> Bool {
    let entry = self[member]
    let needsSlot = entry.waits == 0 && !entry.holdsSlot && (entry.phase == .starting || entry.phase == .executing)
    // The body is still in another wait, already has its slot, or is not executing.
    if !needsSlot || entry.takesNoSlot { return true }
    // Another task of the body has already requested the slot.
    if entry.isReturning { return false }
    self[member].slot = .returning
    guard nextForSlot(newcomer: member) == member else {
      // No slot is free, so the body waits for one, ahead of the runs that have not started (Q1).
      enqueue(member)
      return false
    }
    takeSlot(member, priority: self[member].priority)
    return true
  }

  /// Records that a body was cancelled while it was waiting for its slot, so it continues without one (C7).
  mutating func returnCancelled(_ member: MemberID) {
    guard self[member].isReturning else { return }
    dequeue(member)
    self[member].slot = .none
  }

  /// Ends a body's wait for its slot when the body starts another wait, pauses, or ends. The tasks of the body continue without the slot.
  @inline(__always) private mutating func stopReturning(_ member: MemberID, _ next: inout Next) {
    guard self[member].isReturning else { return }
    returnCancelled(member)
    next.returned.append(member)
  }

  /// Records that a run is pausing before the next execution of its body, and releases its slot (Q3). `needs` contains the steps that the
  /// run must take before that execution.
  mutating func bodyPaused(_ member: MemberID, needs: Needs, _ next: inout Next) {
    _ = advances(member, by: .bodyPaused)
    move(member, to: .pausing)
    (self[member].needs, self[member].claims) = (needs, needs.contains(.claim))
    countWaiting(member, by: 1)
    // A task that the body left behind may be waiting for the slot, which a pausing run must not get.
    stopReturning(member, &next)
    releaseSlot(member, &next)
  }

  // MARK: Idleness

  /// Whether every unfinished run is waiting for the queue to become idle (Q4).
  var isIdle: Bool { count == idlerCount }

  /// Records that the body of a run, or a run nested in it, started waiting for the queue to become idle (Q4).
  mutating func idleWaitStarted(_ member: MemberID) {
    guard member >= 0, !self[member].isNested else { return }
    self[member].idleWaits += 1
    if self[member].idleWaits == 1 { idlerCount += 1 }
  }

  /// Records the end of a wait for the queue to become idle.
  mutating func idleWaitEnded(_ member: MemberID) {
    guard member >= 0, !self[member].isNested else { return }
    self[member].idleWaits -= 1
    if self[member].idleWaits == 0 { idlerCount -= 1 }
  }

  // MARK: Ending

  /// Handles the cancellation of the run, or an outcome that a dependency or a condition decided (C2).
  ///
  /// The run ends immediately unless its body is starting or executing.
  ///
  /// - Returns: Whether the run ends without executing its body, or without executing it again.
  mutating func interrupted(_ member: MemberID) -> Bool {
    guard phase(of: member).awaitsStart else { return false }
    finishAtOnce(member)
    return true
  }

  /// Ends a run whose body is not executing, and removes the run from the queue in which it is waiting (C2).
  private mutating func finishAtOnce(_ member: MemberID) {
    countWaiting(member, by: -1)
    switch self[member].phase {
    case .held: held.remove(member)
    case .ready: dequeue(member)
    default: break
    }
    move(member, to: .finishing)
  }

  /// Records that the body ended or failed to start, and releases the slot of the run. The event is late if another event has already ended
  /// the run.
  ///
  /// If `grantsSlot` is `false`, the caller must then call `grantSlots` or `workerAsked`.
  @inline(__always) mutating func bodyEnded(_ member: MemberID, grantsSlot: Bool = true, _ next: inout Next) {
    guard advances(member, by: .bodyEnded) else { return }
    move(member, to: .finishing)
    stopReturning(member, &next)
    freeSlot(member)
    if grantsSlot { grantSlots(&next) }
  }

  /// Removes a finished run from the machine and frees its place.
  mutating func finished(_ member: MemberID) {
    _ = advances(member, by: .finished)
    if self[member].isNested { nestedCount -= 1 } else { count -= 1 }
    if self[member].idleWaits > 0 { idlerCount -= 1 }
    move(member, to: .finished)
    meters?.left(member)
    if self[member].key >= 0 { fairQueue.left(self[member].key) }
    (self[member].key, firstFree) = (firstFree, member)
    if count == 0, nestedCount == 0, members.count > 4_096 { releaseMemory() }
  }

  /// Releases the memory of the members when the machine has no runs.
  private mutating func releaseMemory() {
    (members, firstFree) = ([], -1)
    ready.releaseMemory()
    slotWaits.releaseMemory()
    returning.releaseMemory()
    held.releaseMemory()
  }

  // MARK: The queue

  /// Records that the queue was suspended (Q2). Returns the waiting runs whose claims the caller must release (R2).
  ///
  /// - Complexity: O(n) for n runs that are waiting for a slot.
  mutating func suspended() -> [MemberID] {
    if !isSuspended { slotWaits.suspensionStart = now }
    isSuspended = true
    let waiting = fairQueue.isUsed ? fairQueue.members.filter { !self[$0].isResuming } : ready.all
    return waiting.filter { self[$0].holdsClaim }.map { member in
      dequeue(member)
      self[member].needs.insert(.claim)
      hold(member)
      return member
    }
  }

  /// Records that the queue was resumed, advances the held runs, and grants free slots (Q2).
  mutating func resumed(_ next: inout Next) {
    if isSuspended { slotWaits.suspendedTime += now - slotWaits.suspensionStart }
    isSuspended = false
    while let member = held.first() {
      held.remove(member)
      let step = advance(member, &next)
      if step != .wait { next.steps.append((member, step)) }
    }
    grantSlots(&next)
  }

  // MARK: Members

  /// Returns the phase of a run; `finished` for a run that has left the machine.
  func phase(of member: MemberID) -> RunPhase { member < 0 ? .finished : self[member].phase }

  /// Returns whether an event advances a run; `false` if the event is late. Traps if the event is impossible in the phase of the run.
  @inline(__always)
  private func advances(_ member: MemberID, by event: RunEvent) -> Bool { event.advances(phase(of: member)) }

  /// Changes the phase of a run. This is the only function that does so (L1).
  @inline(__always)
  private mutating func move(_ member: MemberID, to phase: RunPhase) {
    let previous = self[member].phase
    assert(previous.leads(to: phase), "QueueMachine: a run cannot move from phase \(previous) to phase \(phase)")
    self[member].phase = phase
    if meters != nil { meters?.moved(member, to: phase.metricsBucket, at: now) }
    if phase == .pausing || !phase.awaitsStart { changeCount &+= 1 }
  }

  /// Records that a node of a graph started or ended, so that the stall detector registers a change.
  mutating func nodeMoved() { changeCount &+= 1 }

  @inline(__always) private mutating func insert(_ member: Member) -> MemberID {
    let place = firstFree
    guard place >= 0 else {
      members.append(member)
      return MemberID(members.count - 1)
    }
    firstFree = self[place].key
    self[place] = member
    return place
  }

  /// The unfinished runs, in order of admission.
  var present: [MemberID] {
    members.indices.lazy.filter { members[$0].isPresent }.map(MemberID.init).sorted {
      self[$0].order < self[$1].order
    }
  }
}
