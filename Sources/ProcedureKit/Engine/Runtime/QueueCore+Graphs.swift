import Synchronization

/// Internal. Slots for the workers of graphs.
extension QueueCore {
  /// Whether what a member executes needs no slot, since it executes hooks of its end.
  func needsNoSlot(_ holder: SlotHolder) -> Bool {
    withState { state in holder.member >= 0 && state[holder].lifecycle.state == .finishing }
  }

  /// Claims a slot for a worker, with the place in line of the body that the graph belongs to. `granted` follows.
  func claim(_ slot: GraphSlot, for body: SlotHolder) {
    let isGranted = visit { state, actions, _ in
      let (priority, order) =
        body.member >= 0 ? (state[body].priority, state[body].order) : (TaskPriority.medium.rawValue, nil)
      let member = state.machine.admitted(.helper, priority: priority, inheriting: order, &actions)
      state.seat(slot, at: member)
      slot.isWokenByCall = !state[slot].holdsSlot
      return state[slot].holdsSlot
    }
    if isGranted { slot.granted() }
  }

  /// A worker has ended, or is not needed any more: its slot or its place in line goes on.
  func withdraw(_ slot: GraphSlot) {
    visit { state, actions, effects in
      guard slot.member >= 0 else { return }
      state.unseat(slot, &actions, &effects)
      state.machine.settled(&actions)
    }
  }

  /// A worker will not be needed, unless it has its slot already, in which case it finds nothing to do and ends.
  func withdrawUnlessGranted(_ slot: GraphSlot) {
    visit { state, actions, effects in
      guard slot.member >= 0, slot.isWokenByCall else { return }
      state.unseat(slot, &actions, &effects)
      state.machine.settled(&actions)
    }
  }

  /// Says whether work that holds a slot may start its next piece. If not, because the queue is suspended, has become
  /// narrower, or something comes first, it has given its slot back, and `waitForTurn` has to follow.
  func hasTurn(_ holder: SlotHolder) -> Bool {
    guard isGated else { return true }
    return visit { state, actions, _ in
      holder.member < 0 || state.machine.pieceStarted(holder.member, &actions)
    }
  }

  /// The same for a body, which waits here until it may. Cancelling the caller, or a run that it is part of, ends the wait.
  func takeTurn(_ holder: SlotHolder, in context: ProcedureContext) async {
    while !hasTurn(holder), !context.isCancelled { await waitForTurn(holder, in: context) }
  }

  /// Returns when it is this member's turn. Cancelling the caller, or a run that it is part of, ends the wait.
  func waitForTurn(_ holder: SlotHolder, in context: ProcedureContext) async {
    await wait(for: holder, in: context) { state in state.machine.isInLine(holder.member) }
  }

  /// Ends a loan, and returns when the member has a slot. Cancelling the caller, or a run that it is part of, ends the wait.
  func regain(_ holder: SlotHolder, unlessCancelled context: ProcedureContext) async {
    let hasSlot = visit { state, actions, _ in
      holder.member < 0 || state.machine.loanEnded(holder.member, &actions)
    }
    if !hasSlot { await wait(for: holder, in: context) { $0.wantsSlotBack(holder) } }
  }

  /// Returns when the member has the slot that a part has given up which was stopped; at once, if none has. Cancelling the caller,
  /// or a run that it is part of, ends the wait.
  func waitForSlot(_ holder: SlotHolder, in context: ProcedureContext) async {
    guard isGated else { return }
    let hasSlot = visit { state, actions, _ in
      holder.member < 0 || state.machine.partStopped(holder.member, &actions)
    }
    if !hasSlot { await wait(for: holder, in: context) { $0.wantsSlotBack(holder) } }
  }

  /// One of two copies of what the member executes has ended, and the other goes on.
  func copyEnded(_ holder: SlotHolder) {
    guard isGated else { return }
    visit { state, actions, _ in
      if holder.member >= 0 { state.machine.copyEnded(holder.member, &actions) }
    }
  }

  private func wait(
    for holder: SlotHolder, in context: ProcedureContext, while isWaiting: (borrowing QueueState) -> Bool
  ) async {
    let isCancelled = CancellationFlag()
    await withRunCancellationHandler(in: context, key: isCancelled) {
      await wait(for: holder) { state in !isCancelled.isSet && isWaiting(state) }
    } onCancel: {
      isCancelled.set()
      self.wake(holder)
    }
  }
}

/// Internal. Whether something was cancelled.
private final class CancellationFlag: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .acquiring) }

  func set() { flag.store(true, ordering: .releasing) }
}
