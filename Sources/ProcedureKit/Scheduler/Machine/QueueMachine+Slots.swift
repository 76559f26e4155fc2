/// The lines for a slot, and the keys of the runs in them.
///
/// Without keys, each run stands in `ready` or `returning`. With keys, one run of each key does, and the others wait beside: see `FairQueue`.
extension QueueMachine {
  /// Whether the key of a run has no further slot.
  func isKeyFull(_ member: MemberID) -> Bool {
    let key = members[Int(member)].key
    return key >= 0 && fairQueue.isFull(key)
  }

  /// A run, or a body that goes on, stands in line for a slot, or beside it for its key.
  mutating func enqueue(_ member: MemberID) {
    if meters != nil { meters?.enqueued(member, at: now) }
    let (key, priority, order) = (members[Int(member)].key, members[Int(member)].priority, members[Int(member)].order)
    guard key >= 0 else { return enqueueHead(member, at: order) }
    fairQueue.enqueued(member, of: key, isResuming: members[Int(member)].isResuming, priority: priority, order: order)
    keyChanged(key)
  }

  mutating func dequeue(_ member: MemberID) {
    let key = members[Int(member)].key
    if key < 0 || fairQueue.dequeued(member, of: key) { dequeueHead(member) }
  }

  /// A key has another first run, or more or less room. Of each key at most one run stands in line.
  mutating func keyChanged(_ key: Int32) {
    guard key >= 0, let change = fairQueue.change(of: key) else { return }
    if change.formerHead >= 0 { dequeueHead(change.formerHead) }
    if change.head >= 0 { enqueueHead(change.head, at: change.order) }
  }

  mutating func enqueueHead(_ member: MemberID, at order: UInt64) {
    let priority = members[Int(member)].priority
    if members[Int(member)].isResuming {
      returning.insert(member, priority: priority, order: order)
    } else {
      ready.insert(member, priority: priority, order: order)
    }
  }

  mutating func dequeueHead(_ member: MemberID) {
    if members[Int(member)].isResuming { returning.remove(member) } else { ready.remove(member) }
  }

  /// The run begins or ends to count among those that wait to be started, if it counts at all.
  mutating func countWaiting(_ member: MemberID, by change: Int) {
    guard members[Int(member)].takesRoom else { return }
    waitingCount += change
    if members[Int(member)].key >= 0 { fairQueue.waitingChanged(members[Int(member)].key, by: change) }
  }

  /// The body goes on with a part that has another key: it has its slot if that key has room, and needs one otherwise (`slotNeeded`).
  mutating func keyReplaced(of member: MemberID, by id: ObjectIdentifier?, _ next: inout Next) {
    let (former, key) = (members[Int(member)].key, fairQueue.joined(id))
    let isReturning = members[Int(member)].isReturning
    if isReturning { dequeue(member) }
    if members[Int(member)].holdsSlot, key != former, fairQueue.isFull(key) { giveBackSlot(member, &next) }
    members[Int(member)].key = key
    if members[Int(member)].holdsSlot {
      fairQueue.slotGivenBack(former)
      fairQueue.slotTaken(key, startsWith: nil)
    }
    if isReturning { enqueue(member) }
    keyChanged(former)
    keyChanged(key)
    fairQueue.left(former)
    grantSlots(&next)
  }
}
