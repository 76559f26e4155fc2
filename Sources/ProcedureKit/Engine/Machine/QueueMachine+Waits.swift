/// Internal. Members whose bodies wait: slots that are lent meanwhile, and pauses between attempts.
extension QueueMachine {
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
    return members[Int(index)].loans > 0 || takeSlotBack(index, &actions)
  }

  /// A body goes on after a part of it that was stopped, which may have given the slot up to stand in line for its turn: that is
  /// not waited for any more, also not that the queue goes on, but the slot is. Says whether the body may go on at once; if not,
  /// a `wake` follows.
  mutating func partStopped(_ index: Int32, _ actions: inout [Action]) -> Bool {
    let member = members[Int(index)]
    if member.holdsSlot || member.loans > 0 { return true }
    if returning.contains(index) { return false }
    return !ready.contains(index) || takeSlotBack(index, &actions)
  }

  /// One of two copies of a body has ended, and the other goes on. Where that stands in line, it has no use for the slot with
  /// which the first has worked.
  mutating func copyEnded(_ index: Int32, _ actions: inout [Action]) {
    guard ready.contains(index) else { return }
    giveSlotBack(index)
    grant(&actions)
  }

  private mutating func takeSlotBack(_ index: Int32, _ actions: inout [Action]) -> Bool {
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
    // Hooks of the end hold no slot, and are called also while the queue is suspended.
    if member.lifecycle.state == .finishing { return true }
    if ready.contains(index) {
      // On a suspended queue it may have had its slot back meanwhile, for what goes on: here it has no use for that.
      giveSlotBack(index)
      grant(&actions)
      return !ready.contains(index)
    }
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
}
