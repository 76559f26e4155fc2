/// Internal. The way of a run: from its dependencies to its body, with what it claims, and to its end.
extension QueueMachine {
  // MARK: A run's way

  mutating func dependenciesSettled(_ index: Int32, _ verdict: RunLifecycle.Verdict, _ actions: inout [Action]) {
    switch members[Int(index)].lifecycle.dependenciesSettled(verdict) {
    case .proceed: evaluate(index, &actions)
    case .finish: finish(index, &actions)
    case .tooLate: break
    }
  }

  mutating func stoppedWaiting(_ index: Int32) {
    guard members[Int(index)].countsAsWaiting else { return }
    members[Int(index)].countsAsWaiting = false
    waiting -= 1
  }

  /// A detached run was decided before its body started.
  mutating func finish(_ index: Int32, _ actions: inout [Action]) {
    stoppedWaiting(index)
    guard members[Int(index)].hasEnding else { return actions.append(.finish(index)) }
    concluded(index, &actions)
    grant(&actions)
  }

  /// A member that is about to leave has no use for its slot any more. `settled` has to follow.
  mutating func slotReturned(_ index: Int32, _ actions: inout [Action]) {
    giveSlotBack(index)
    leaveLines(index, &actions)
  }

  /// A cancelled body does not wait for the slot that it stands in line for; tasks that it has left behind go on without one.
  private mutating func leaveLines(_ index: Int32, _ actions: inout [Action]) {
    guard returning.contains(index) || ready.contains(index) else { return }
    returning.discard(index)
    ready.discard(index)
    actions.append(.wake(index))
  }

  /// The outcome of a detached run with an ending is decided: it gives its slot back, and a worker carries out the ending,
  /// also while the queue is suspended. `workerAsked` or `settled` has to follow.
  mutating func concluded(_ index: Int32, _ actions: inout [Action]) {
    giveSlotBack(index)
    leaveLines(index, &actions)
    endings.insert(index, priority: members[Int(index)].priority, order: members[Int(index)].order)
  }

  /// A detached run's conditions wait for a worker, and a structured one's for its task; without any it goes straight on.
  mutating func evaluate(_ index: Int32, _ actions: inout [Action]) {
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

  static let firstOfAll = UInt8.max

  func rank(of member: Member) -> UInt8 {
    member.resources == .held ? Self.firstOfAll : member.priority
  }

  /// Whoever holds resources comes first, since others wait for these.
  mutating func enterLine(_ index: Int32, wish: UInt64 = 0) {
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

  mutating func giveSlotBack(_ index: Int32) {
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
}
