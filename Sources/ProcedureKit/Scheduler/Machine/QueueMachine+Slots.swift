/// The slots, and the runs that are waiting for them.
///
/// If the queue does not use keys, each waiting run is in `ready` or `returning`. Otherwise, `FairQueue` contains all waiting runs, and
/// these two queues contain only the head of each key.
extension QueueMachine {
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
    if hasFreeSlot { slotWillBeGranted() }
    while let member = nextForSlot() {
      let needsWorker = self[member].needsWorker
      // No worker is free, so the run keeps waiting, and no run behind it may overtake it.
      if needsWorker, !hasWorker { return }
      let (isReturning, priority) = (self[member].isReturning, self[member].waitingPriority)
      leaveLine(member, getsSlot: true)
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
  @inline(__always) mutating func takeSlot(_ member: MemberID, priority: UInt8) {
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
  mutating func releaseSlot(_ member: MemberID, _ next: inout Next) {
    freeSlot(member)
    grantSlots(&next)
  }

  /// Releases the slot of a run, if the run holds one, without granting it to another run yet.
  mutating func freeSlot(_ member: MemberID) {
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
  @inline(__always) mutating func enqueue(_ member: MemberID) {
    slotWaitStarted(member)
    let (key, order) = (self[member].key, self[member].order)
    guard key >= 0 else { return enqueueHead(member, at: order) }
    fairQueue.enqueued(
      member, of: key, isResuming: self[member].isResuming, priority: self[member].priority,
      order: order)
    keyChanged(key)
  }

  /// Removes a member that no longer needs a slot. Another member of its key can then compete for a slot.
  mutating func dequeue(_ member: MemberID) {
    leaveLine(member, getsSlot: false)
    keyChanged(self[member].key)
  }

  /// Removes a member that gets a slot or no longer needs one. The caller must then replace the head of the member's key.
  @inline(__always) private mutating func leaveLine(_ member: MemberID, getsSlot: Bool) {
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
  @inline(__always) mutating func countWaiting(_ member: MemberID, by change: Int) {
    guard self[member].takesRoom else { return }
    waitingCount += change
    if self[member].key >= 0 { fairQueue.waitingChanged(self[member].key, by: change) }
  }

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

  /// Records that a run must have at least the given priority. Returns whether this raised the priority of the run (Q7).
  mutating func raised(_ member: MemberID, to priority: UInt8) -> Bool {
    guard self[member].priority < priority else { return false }
    guard self[member].risenPriority < priority else {
      // The run has already risen at least this far by waiting, so its place stays the same, and its next rise is not delayed.
      self[member].priority = priority
      return true
    }
    setPriority(priority, of: member, risenTo: self[member].risenPriority)
    return true
  }

  /// Records that the priority of a run changed. A run that is waiting for a slot, or is held, moves to its place among the runs of the
  /// new priority (Q1).
  mutating func priorityChanged(_ member: MemberID, to priority: UInt8) {
    setPriority(priority, of: member, risenTo: 0)
  }

  private mutating func setPriority(_ priority: UInt8, of member: MemberID, risenTo risenPriority: UInt8) {
    self[member].priority = priority
    restartAgeing(member, risenTo: risenPriority)
    reorder(member)
  }

  /// Moves a run whose priority has changed to its new place, if the run is waiting for a slot or is held.
  mutating func reorder(_ member: MemberID) {
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
}

extension QueueMachine.Member {
  /// Whether the run is nested, or its body is reacquiring its slot. Such a run gets a slot before all other runs (Q1).
  var isResuming: Bool { isNested || isReturning }

  /// Whether the run can take a slot only if a worker requests a run.
  var needsWorker: Bool { isDrivenByWorker && !isResuming }
}
