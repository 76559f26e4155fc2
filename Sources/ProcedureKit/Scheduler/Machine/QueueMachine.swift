/// A state machine that decides what each run on a queue does next. It is a value that contains the slots, the ready queue, and the phase
/// of each run.
///
/// Each event is a function named in the past tense. Most events return the next step of the run that they are about, and `Next` receives
/// the effects on other runs. A late event does not advance its run and returns `stale`; an impossible event traps (`RunEvent`).
///
/// The machine contains no lock, clock, closure, continuation, or run. It identifies runs by their places.
struct QueueMachine: Sendable {
  // The properties that each event uses come first, so that they are on few cache lines.

  private(set) var members: ContiguousArray<Member> = []
  /// The place that was freed last; -1 if there is none. The free places form a list.
  private var firstFree: MemberID = -1
  /// Runs, other than nested ones, that need a slot to start.
  private(set) var ready = ReadyQueue()
  private(set) var width: Int
  private(set) var slotsTaken = 0
  private(set) var isSuspended: Bool
  private(set) var isWorkerStarting = false
  private(set) var admissionCount: UInt64 = 0
  /// The number of unfinished runs, not including nested runs.
  private(set) var count = 0
  /// The number of unfinished nested runs.
  private var nestedCount = 0
  /// The number of runs that count towards the limit on waiting runs: those that were added to the queue and are waiting to start, or to
  /// execute their bodies again.
  private(set) var waitingCount = 0
  /// The number of runs whose bodies are waiting for the queue to become idle. The queue is idle when only these runs are unfinished.
  private(set) var idlerCount = 0
  /// The number of times that a run has started, paused, waited, resumed, or ended, and that a node has started or ended. Admissions are
  /// not counted, because a stalled queue can still receive runs.
  private(set) var changeCount: UInt64 = 0

  /// Bodies that are waiting to reacquire their slots, and nested runs that are waiting for their first slot. They get slots before the
  /// runs in `ready`.
  private(set) var returning = ReadyQueue()
  /// Runs that the suspended queue holds back (Q2).
  private(set) var held = ReadyQueue()
  /// Decides which run of each key competes for a slot. Only the head of each key's waiting runs is in `ready` or `returning`.
  private(set) var fairQueue: FairQueue
  /// The state of the rules about how long runs wait for slots.
  private(set) var slotWaits: SlotWaits
  /// The measured times of the runs; `nil` while no subscriber reads events and no totals are collected.
  private(set) var meters: RunMeters?
  /// The instant of the current event in nanoseconds, if runs, or their waits for slots, are measured.
  private(set) var now: Int64 = 0

  init(width: Int, isSuspended: Bool, fairQueue: FairQueue = FairQueue(), slotWaits: SlotWaits = SlotWaits()) {
    (self.width, self.isSuspended, self.fairQueue, self.slotWaits) = (width, isSuspended, fairQueue, slotWaits)
  }

  init(_ configuration: ProcedureQueue.Configuration) {
    self.init(
      width: configuration.maxConcurrentProcedures, isSuspended: configuration.isSuspended,
      fairQueue: FairQueue(configuration), slotWaits: SlotWaits(configuration))
  }

  @inline(__always) private(set) subscript(member: MemberID) -> Member {
    _read { yield members[Int(member)] }
    _modify { yield &members[Int(member)] }
  }

  // MARK: Admission

  /// Records that a run was admitted.
  ///
  /// - Parameters:
  ///   - new: The run.
  ///   - key: The key and its weight; `nil` if the run uses another run's slot, or if the queue does not use keys.
  ///   - reported: The run whose metrics include the times of the new run.
  ///   - next: Receives the effects on other runs.
  /// - Returns: The place of the run, and its first step.
  mutating func admitted(
    _ new: Member, key: (id: ObjectIdentifier?, weight: Int)? = nil, partOf reported: MemberID = -1,
    _ next: inout Next
  ) -> (MemberID, RunStep) {
    admissionCount += 1
    var new = new
    if new.order == 0 { new.order = admissionCount }
    new.claims = new.prerequisites.contains(.claim)
    if let key { new.key = fairQueue.joined(key.id, weight: key.weight) }
    let member = insert(new)
    meters?.admitted(member, partOf: reported, at: now)
    if new.isNested { nestedCount += 1 } else { count += 1 }
    countWaiting(member, by: 1)
    // The run waits in `pending` until `dependenciesSucceeded` is called (D1).
    if new.prerequisites.contains(.dependencies) { return (member, .wait) }
    return (member, advance(member, &next))
  }

  /// Records that all dependencies of a run succeeded (D1). Returns the next step.
  mutating func dependenciesSucceeded(_ member: MemberID, _ next: inout Next) -> RunStep {
    let isPending = advances(member, by: .dependenciesSucceeded)
    // A dependency that was added during a step can finish before that step ends, so the prerequisite is removed even if the run is not
    // pending.
    if phase(of: member).awaitsStart { self[member].prerequisites.remove(.dependencies) }
    return isPending ? advance(member, &next) : .stale
  }

  /// Records that a dependency was added to a run that has not started (D1).
  ///
  /// The run waits for the dependency in `pending`. A run that is evaluating its conditions, pausing, or claiming completes that step
  /// first.
  ///
  /// - Returns: `releaseClaim` if the run held a claim, which it makes again later (R2); `stale` if the body has already been called, or if
  ///   the run has ended; otherwise `wait`.
  mutating func dependencyAdded(_ member: MemberID) -> RunStep {
    guard phase(of: member).awaitsStart, !self[member].hasStarted else { return .stale }
    let holdsClaim = self[member].holdsClaim
    self[member].prerequisites.insert(.dependencies)
    switch self[member].phase {
    case .held: held.remove(member)
    case .ready:
      dequeue(member)
      if holdsClaim { self[member].prerequisites.insert(.claim) }
    default: return .wait
    }
    move(member, to: .pending)
    return holdsClaim ? .releaseClaim : .wait
  }

  /// Records that the conditions of a run are about to be evaluated.
  ///
  /// - Returns: Whether to evaluate them; `false` if the run has already ended, a dependency has been added (D1), or the queue has been
  ///   suspended and holds the run back (Q2).
  mutating func evaluationStarts(_ member: MemberID) -> Bool {
    guard phase(of: member) == .evaluating else { return false }
    return enterStep(member, for: self[member].prerequisites) == .evaluate
  }

  /// Records that all conditions of a run are satisfied. Returns the next step.
  mutating func conditionsSatisfied(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .conditionsSatisfied) else { return .stale }
    self[member].prerequisites.remove(.conditions)
    return advance(member, &next)
  }

  /// Records that the delay before a run, or the pause between two of its executions, has ended. Returns the next step.
  mutating func pauseEnded(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .pauseEnded) else { return .stale }
    self[member].prerequisites.remove(.delay)
    return advance(member, &next)
  }

  /// Records that the claim of a run was granted.
  ///
  /// On a suspended queue, a run that is not nested releases the resources, and claims them again when the queue is resumed (R2).
  mutating func claimGranted(_ member: MemberID, _ next: inout Next) -> RunStep {
    guard advances(member, by: .claimGranted) else { return .stale }
    // A dependency was added while the run was claiming the resources. The run cannot start yet, so it must not hold them (R2).
    if self[member].prerequisites.contains(.dependencies) {
      move(member, to: .pending)
      return .releaseClaim
    }
    // The queue was suspended while the run was waiting for the resources. The run cannot get a slot, so it must not hold them (R2).
    if isHeldBack(member) {
      hold(member)
      return .releaseClaim
    }
    self[member].prerequisites.remove(.claim)
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
    let prerequisites = self[member].prerequisites
    guard !prerequisites.isEmpty else { return becomeReady(member, &next) }
    return enterStep(member, for: prerequisites)
  }

  /// Moves a run to the phase of the next step that it needs. Returns the step, or `wait` if the run cannot take a step yet.
  private mutating func enterStep(_ member: MemberID, for prerequisites: Prerequisites) -> RunStep {
    // A dependency was added during the previous step.
    if prerequisites.contains(.dependencies) {
      move(member, to: .pending)
      return .wait
    }
    // On a suspended queue, a run neither evaluates conditions nor claims resources (Q2, R2). Its delay still elapses if it needs only a
    // slot afterwards.
    if isHeldBack(member), prerequisites != .delay {
      hold(member)
      return .wait
    }
    if prerequisites.contains(.conditions) {
      move(member, to: .evaluating)
      return .evaluate
    }
    if prerequisites.contains(.delay) {
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
  @inline(__always) private mutating func start(_ member: MemberID) {
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

  /// Records that a body started waiting, and releases its slot (Q3). Hooks, conditions, and tasks that a body left behind wait in the same
  /// way, so a wait can start and end in any phase.
  mutating func waitStarted(_ member: MemberID, _ next: inout Next) {
    precondition(self[member].isPresent, "QueueMachine: a run that has left the queue cannot wait")
    self[member].waits += 1
    changeCount &+= 1
    stopReturning(member, &next)
    releaseSlot(member, &next)
  }

  /// Records that a wait of a body ended. After the last wait, the body needs its slot again, so the caller must call `slotNeeded` next
  /// (Q3).
  mutating func waitEnded(_ member: MemberID) {
    precondition(self[member].waits > 0, "QueueMachine: a wait ended that had not started")
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

  /// Records that a body was cancelled while it was waiting for its slot, so it continues without one (C7). Does nothing if the body is not
  /// waiting for its slot, for example because it has just received it.
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

  /// Records that a run is pausing before the next execution of its body, and releases its slot (Q3). `prerequisites` contains the steps
  /// that the run must take before that execution.
  mutating func bodyPaused(_ member: MemberID, prerequisites: Prerequisites, _ next: inout Next) {
    _ = advances(member, by: .bodyPaused)
    move(member, to: .pausing)
    (self[member].prerequisites, self[member].claims) = (prerequisites, prerequisites.contains(.claim))
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

  /// Handles the cancellation of the run, the failure of a child, or an outcome that a dependency or a condition decided (C2, D4).
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

  // MARK: Granting slots (Q1)

  /// Whether the width permits another run to have a slot.
  private var hasFreeSlot: Bool { slotsTaken < width }

  /// Returns the run that gets the next slot. Only this function enforces the width.
  ///
  /// Resuming bodies and nested runs come before runs that have not started. Within each group, runs are ordered by priority and then by
  /// admission.
  ///
  /// - Parameter newcomer: A run that has not been enqueued yet, and therefore comes after the enqueued runs of its group.
  /// - Returns: The run; `nil` if no slot is free, or if no run can take it.
  /// - Complexity: O(1) for one priority.
  @inline(__always) func nextForSlot(newcomer: MemberID = -1) -> MemberID? {
    guard hasFreeSlot else { return nil }
    if !returning.isEmpty { return returning.first() }
    let hasNewcomer = newcomer >= 0 && !isKeyFull(newcomer)
    if hasNewcomer, self[newcomer].isResuming { return newcomer }
    // A suspended queue starts no runs, but executing bodies continue (Q2).
    if isSuspended { return nil }
    if !ready.isEmpty { return ready.first() }
    return hasNewcomer ? newcomer : nil
  }

  /// Handles a worker's request for a run. If a run is available, it is stored in `Next.execute`.
  mutating func workerAsked(isStarting: Bool, _ next: inout Next) {
    if isStarting { isWorkerStarting = false }
    grantSlots(hasWorker: true, &next)
  }

  /// Grants free slots to waiting runs, in order (Q1).
  ///
  /// - Parameters:
  ///   - hasWorker: Whether a worker is requesting a run.
  ///   - next: Receives the runs that are granted a slot.
  @inline(__always) mutating func grantSlots(hasWorker: Bool = false, _ next: inout Next) {
    var hasWorker = hasWorker
    if hasFreeSlot, slotWaits.areMeasured { raiseDueMembers() }
    while let member = nextForSlot() {
      let needsWorker = self[member].needsWorker
      // No worker is free, so the run keeps waiting, and no run behind it may overtake it.
      if needsWorker, !hasWorker { return }
      let (isReturning, priority) = (self[member].isReturning, self[member].waitingPriority)
      removeFromReadyQueue(member, getsSlot: true)
      takeSlot(member, priority: priority)
      if isReturning {
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

  /// Completes an event. Afterwards, either no slot is free, or no run can take one, or a worker is starting. This function is called once
  /// for each critical section, after its last event.
  ///
  /// - Returns: Whether a worker must be started. At most one worker is being started at any time.
  @inline(__always) mutating func completeEvent(_ next: inout Next) -> Bool {
    guard !isWorkerStarting, let first = nextForSlot() else { return false }
    // Several events occurred in the same critical section, and a later one made a run ready that precedes a run that needs a worker.
    if !self[first].needsWorker {
      grantSlots(&next)
      if nextForSlot() == nil { return false }
    }
    isWorkerStarting = true
    return true
  }

  /// Gives a slot to a run, and counts the slot towards the limit for the run's key. `priority` is the priority at which the run competed
  /// for the slot.
  @inline(__always) private mutating func takeSlot(_ member: MemberID, priority: UInt8) {
    slotsTaken += 1
    self[member].slot = .held
    meters?.slotTaken(member, at: now)
    let key = self[member].key
    guard key >= 0 else { return }
    // Nested runs and resuming bodies do not use up the turn of their key.
    let starts = !self[member].isNested && self[member].phase.awaitsStart
    fairQueue.slotTaken(key, startsWith: starts ? priority : nil)
    keyChanged(key)
  }

  /// Releases the slot of a run, if the run holds one, and grants the slot to the next run (Q1).
  private mutating func releaseSlot(_ member: MemberID, _ next: inout Next) {
    freeSlot(member)
    grantSlots(&next)
  }

  /// Releases the slot of a run, if the run holds one, without granting it to another run yet.
  private mutating func freeSlot(_ member: MemberID) {
    guard self[member].holdsSlot else { return }
    self[member].slot = .none
    meters?.slotReleased(member, at: now)
    slotsTaken -= 1
    let key = self[member].key
    if key >= 0 {
      fairQueue.slotReleased(key)
      keyChanged(key)
    }
  }

  /// Records that the width changed. A larger width takes effect immediately; a smaller width applies only to the bodies that start next
  /// (Q1).
  mutating func widthChanged(to width: Int, _ next: inout Next) {
    self.width = width
    grantSlots(&next)
  }

  // MARK: Waiting for a slot

  /// Returns whether all slots of the run's key are taken.
  func isKeyFull(_ member: MemberID) -> Bool {
    let key = self[member].key
    return key >= 0 && fairQueue.isFull(key)
  }

  /// Enqueues a member for a slot. The member is parked if its key has reached the limit, or if it is not the head of its key.
  @inline(__always) private mutating func enqueue(_ member: MemberID) {
    slotWaitStarted(member)
    let (key, order) = (self[member].key, self[member].order)
    guard key >= 0 else { return enqueueHead(member, at: order) }
    fairQueue.enqueued(
      member, of: key, isResuming: self[member].isResuming, priority: self[member].priority,
      order: order)
    keyChanged(key)
  }

  /// Removes a member that no longer needs a slot. Another member of its key can then compete for a slot.
  private mutating func dequeue(_ member: MemberID) {
    removeFromReadyQueue(member, getsSlot: false)
    keyChanged(self[member].key)
  }

  /// Removes a member that gets a slot or no longer needs one. The caller must then replace the head of the member's key.
  @inline(__always) private mutating func removeFromReadyQueue(_ member: MemberID, getsSlot: Bool) {
    slotWaitEnded(member, getsSlot: getsSlot)
    let key = self[member].key
    if key < 0 || fairQueue.dequeued(member, of: key) { dequeueHead(member) }
  }

  /// Replaces the head of a key, if necessary, after the waiting members or the slots of the key have changed.
  private mutating func keyChanged(_ key: Int32) {
    guard key >= 0, let change = fairQueue.change(of: key) else { return }
    if change.previousHead >= 0 { dequeueHead(change.previousHead) }
    if change.head >= 0 { enqueueHead(change.head, at: change.order) }
  }

  /// Inserts the head of a key, or a run without a key, into the ready queue.
  @inline(__always) private mutating func enqueueHead(_ member: MemberID, at order: UInt64) {
    let priority = self[member].waitingPriority
    if self[member].isResuming {
      returning.insert(member, priority: priority, order: order)
    } else {
      ready.insert(member, priority: priority, order: order)
    }
  }

  /// Removes the head of a key, or a run without a key, from the ready queue.
  private mutating func dequeueHead(_ member: MemberID) {
    if self[member].isResuming { returning.remove(member) } else { ready.remove(member) }
  }

  /// Changes the number of runs that are waiting to start, if `member` counts towards the limit on waiting runs.
  @inline(__always) private mutating func countWaiting(_ member: MemberID, by change: Int) {
    guard self[member].takesRoom else { return }
    waitingCount += change
    if self[member].key >= 0 { fairQueue.waitingChanged(self[member].key, by: change) }
  }

  /// Removes and returns a key whose number of waiting runs has decreased, or returns `nil` if there is none.
  mutating func takeKeyWithCapacity() -> ObjectIdentifier? { fairQueue.takeKeyWithCapacity() }

  /// Records that a body continues with a different key, such as the key of a nested run.
  ///
  /// The body keeps its slot if the new key has a free one; otherwise, the caller must call `slotNeeded` next. The weight of the new key
  /// stays the same, because a nested run does not use up a turn of its key.
  mutating func keyReplaced(of member: MemberID, by id: ObjectIdentifier?, _ next: inout Next) {
    let (previousKey, key) = (self[member].key, fairQueue.joined(id))
    let isReturning = self[member].isReturning
    if isReturning { dequeue(member) }
    // The new key has no free slot, so the body releases its current slot.
    if self[member].holdsSlot, key != previousKey, fairQueue.isFull(key) { releaseSlot(member, &next) }
    self[member].key = key
    if isReturning { enqueue(member) }
    if self[member].holdsSlot {
      fairQueue.slotReleased(previousKey)
      fairQueue.slotTaken(key, startsWith: nil)
      keyChanged(previousKey)
      keyChanged(key)
    }
    fairQueue.left(previousKey)
    grantSlots(&next)
  }

  // MARK: Priority (Q7)

  /// Records that a run must have at least the given priority. Returns whether this raised the priority of the run (Q7); `false` for a run
  /// that has left the machine.
  mutating func raised(_ member: MemberID, to priority: UInt8) -> Bool {
    guard member >= 0, self[member].priority < priority else { return false }
    guard self[member].risenPriority < priority else {
      // The run has already risen at least this far by waiting, so its place stays the same, and its next rise is not delayed.
      self[member].priority = priority
      return true
    }
    setPriority(priority, of: member, risenTo: self[member].risenPriority)
    return true
  }

  /// Records that a run that is waiting to start needs no more than the given priority. A run that is waiting for a slot, or is held, moves
  /// to its place among the runs of the new priority (Q1). To raise a priority, the caller calls `raised` next.
  ///
  /// - Returns: `false` if the body is executing, or if the run has ended.
  mutating func lowered(_ member: MemberID, to priority: UInt8) -> Bool {
    guard phase(of: member).awaitsStart else { return false }
    if self[member].priority >= priority { setPriority(priority, of: member, risenTo: 0) }
    return true
  }

  /// Sets the priority of a run. If the run is waiting for a slot, a new ageing interval starts, and `risenPriority` is the level to which
  /// it has risen so far.
  private mutating func setPriority(_ priority: UInt8, of member: MemberID, risenTo risenPriority: UInt8) {
    self[member].priority = priority
    if slotWaits.areMeasured, self[member].phase == .ready || self[member].isReturning {
      slotWaits.stopAgeing(member)
      self[member].risenPriority = risenPriority
      slotWaits.startAgeing(member, at: unsuspendedNow, from: self[member].waitingPriority)
    }
    reorder(member)
  }

  /// Repositions a run after its priority has changed, if the run is waiting for a slot or is held.
  private mutating func reorder(_ member: MemberID) {
    let (order, key) = (self[member].order, self[member].key)
    let priority = self[member].waitingPriority
    if key >= 0, fairQueue.isWaiting(member) {
      if fairQueue.raised(member, of: key, to: priority) { dequeueHead(member) }
      keyChanged(key)
    } else if ready.contains(member) || returning.contains(member) {
      dequeueHead(member)
      enqueueHead(member, at: order)
    } else if held.contains(member) {
      held.remove(member)
      held.insert(member, priority: priority, order: order)
    }
  }

  // MARK: The queue

  /// Records that the queue was suspended (Q2). Returns the waiting runs whose claims the caller must release (R2).
  ///
  /// - Complexity: O(n) for n runs that are waiting for a slot.
  mutating func suspended() -> [MemberID] {
    if !isSuspended { slotWaits.suspended(at: now) }
    isSuspended = true
    let waiting = fairQueue.isUsed ? fairQueue.members.filter { !self[$0].isResuming } : ready.all
    return waiting.filter { self[$0].holdsClaim }.map { member in
      dequeue(member)
      self[member].prerequisites.insert(.claim)
      hold(member)
      return member
    }
  }

  /// Records that the queue was resumed, advances the held runs, and grants free slots (Q2).
  mutating func resumed(_ next: inout Next) {
    if isSuspended { slotWaits.resumed(at: now) }
    isSuspended = false
    while let member = held.first() {
      held.remove(member)
      let step = advance(member, &next)
      if step != .wait { next.steps.append((member, step)) }
    }
    grantSlots(&next)
  }

  // MARK: Waits and measurements

  /// Records that a member started waiting for a slot, and for nothing else. Rules about such waits take effect here.
  ///
  /// The run is waiting for its first slot if it is in `ready` and `Member.hasStarted` is `false`. In `ready` with `hasStarted`, it is
  /// waiting to execute its body again. In every other phase, its body, or a hook that precedes the body, is waiting to reacquire the slot
  /// (Q3).
  ///
  /// A nested run belongs to a body that has already started. Nevertheless, unless it uses the slot of that body, it can be waiting for its
  /// first slot.
  @inline(__always) private mutating func slotWaitStarted(_ member: MemberID) {
    if meters != nil { meters?.enqueued(member, at: now) }
    if slotWaits.areMeasured { slotWaits.startAgeing(member, at: unsuspendedNow, from: self[member].waitingPriority) }
  }

  /// Records that a member stopped waiting because it got a slot, no longer needs one, or now waits for a slot of another key. The rules
  /// that `slotWaitStarted` applied to the wait no longer apply.
  @inline(__always) private mutating func slotWaitEnded(_ member: MemberID, getsSlot: Bool) {
    if !getsSlot { meters?.dequeued(member) }
    guard slotWaits.areMeasured else { return }
    slotWaits.stopAgeing(member)
    self[member].risenPriority = 0
  }

  /// Raises the priority of each waiting member by one level for each ageing interval that has passed since the member started waiting or
  /// was last raised.
  private mutating func raiseDueMembers() {
    while let (member, end) = slotWaits.takeDue(at: unsuspendedNow) {
      guard let priority = SlotWaits.level(above: self[member].waitingPriority) else { continue }
      self[member].risenPriority = priority
      reorder(member)
      // More than one interval may have passed, so the member may rise again in this loop.
      slotWaits.startAgeing(member, at: end, from: priority)
    }
  }

  /// The current instant, not counting the time during which the queue was suspended.
  private var unsuspendedNow: Int64 { slotWaits.unsuspended(now, isSuspended: isSuspended) }

  /// Sets the instant of the next events. The machine has no clock.
  @inline(__always) mutating func timePassed(to instant: Int64) { now = instant }

  /// Starts or stops measuring runs.
  @inline(__always) mutating func setMeasured(_ isMeasured: Bool) {
    if isMeasured != (meters != nil) { meters = isMeasured ? RunMeters() : nil }
  }

  /// Records that the body of a run began or ended a wait that counts as a pause.
  mutating func pauseOfBodyChanged(_ member: MemberID, by change: Int32) {
    meters?.pauseOfBodyChanged(member, by: change, at: now)
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
