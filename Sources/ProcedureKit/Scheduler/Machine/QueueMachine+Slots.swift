/// The runs that are waiting for a slot, and their keys.
///
/// If the queue does not use keys, each waiting run is in `ready` or `returning`. Otherwise, these two queues contain only the head of each
/// key, and `FairQueue` contains the other runs.
extension QueueMachine {
  /// Returns whether all slots of the run's key are taken.
  func isKeyFull(_ member: MemberID) -> Bool {
    let key = members[Int(member)].key
    return key >= 0 && fairQueue.isFull(key)
  }

  /// Enqueues a member for a slot. The member is parked if its key has reached the limit, or if it is not the head of its key.
  mutating func enqueue(_ member: MemberID) {
    if meters != nil { meters?.enqueued(member, at: now) }
    if ageingInterval != nil { startAgeing(member, at: ageingNow) }
    let (key, order) = (members[Int(member)].key, members[Int(member)].order)
    guard key >= 0 else { return enqueueHead(member, at: order) }
    fairQueue.enqueued(
      member, of: key, isResuming: members[Int(member)].isResuming, priority: members[Int(member)].priority,
      order: order)
    keyChanged(key)
  }

  /// Removes a member that is no longer waiting for a slot. The caller must then call `keyChanged`.
  mutating func dequeue(_ member: MemberID) {
    if ageingInterval != nil { stopAgeing(member) }
    let key = members[Int(member)].key
    if key < 0 || fairQueue.dequeued(member, of: key) { dequeueHead(member) }
  }

  /// Replaces the head of a key after its waiting members or its slots change.
  mutating func keyChanged(_ key: Int32) {
    guard key >= 0, let change = fairQueue.change(of: key) else { return }
    if change.previousHead >= 0 { dequeueHead(change.previousHead) }
    if change.head >= 0 { enqueueHead(change.head, at: change.order) }
  }

  /// Inserts the head of a key, or a run without a key, into the ready queue.
  mutating func enqueueHead(_ member: MemberID, at order: UInt64) {
    let priority = members[Int(member)].waitingPriority
    if members[Int(member)].isResuming {
      returning.insert(member, priority: priority, order: order)
    } else {
      ready.insert(member, priority: priority, order: order)
    }
  }

  /// Removes the head of a key, or a run without a key, from the ready queue.
  mutating func dequeueHead(_ member: MemberID) {
    if members[Int(member)].isResuming { returning.remove(member) } else { ready.remove(member) }
  }

  /// Changes the number of runs that are waiting to be started, provided that this run counts towards the limit on waiting runs.
  mutating func countWaiting(_ member: MemberID, by change: Int) {
    guard members[Int(member)].takesRoom else { return }
    waitingCount += change
    if members[Int(member)].key >= 0 { fairQueue.waitingChanged(members[Int(member)].key, by: change) }
  }

  /// Records that a body continues with a different key, such as the key of a nested run.
  ///
  /// The body keeps its slot if the new key has a free one; otherwise, the caller must call `slotNeeded` next. The weight of the new key
  /// stays the same, because a nested run does not use up a turn of its key.
  mutating func keyReplaced(of member: MemberID, by id: ObjectIdentifier?, _ next: inout Next) {
    let (previousKey, key) = (members[Int(member)].key, fairQueue.joined(id))
    let isReturning = members[Int(member)].isReturning
    if isReturning { dequeue(member) }
    // The new key has no free slot, so the body releases its current slot.
    if members[Int(member)].holdsSlot, key != previousKey, fairQueue.isFull(key) { releaseSlot(member, &next) }
    members[Int(member)].key = key
    if members[Int(member)].holdsSlot {
      fairQueue.slotReleased(previousKey)
      fairQueue.slotTaken(key, startsWith: nil)
    }
    if isReturning { enqueue(member) }
    keyChanged(previousKey)
    keyChanged(key)
    fairQueue.left(previousKey)
    grantSlots(&next)
  }
}
