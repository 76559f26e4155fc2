import Synchronization

/// Internal. The engine behind a ``ProcedureQueue``: one lock around one ``QueueMachine``, and what performs its decisions.
///
/// Every decision about a procedure is made in a visit to the lock; adding one takes one visit, or none where it only has to
/// stand in line (see ``Inbox``), and one more does all at once that lies between the end of one body and the start of the
/// next. The lock is a `Mutex` and no actor, since it is contended by the workers: an uncontended visit costs the same, a
/// contended one a fraction. Nothing of the user's is called inside: effects are collected and performed after the lock has
/// been left.
///
/// The lock guards all that members store and can change. Locks that may be taken inside it: that of the inbox, those of event
/// streams, that of ``ResourceBook``, and those of ``ChildGroup``, of ``ScopeExtras`` for where a member was started from, and of
/// a ``Place`` in the line for room. The lock of a queue is taken inside none of them.
@usableFromInline
final class QueueCore: Sendable {
  /// What claims and waits know it by.
  let number = ResourceLedger.nextQueue()
  let name: String
  let executor: (any TaskExecutor)?
  let carriers: [ContextCarrier]
  let resources: ResourceTable
  let hooks: ProcedureHooks?
  let hasFinishHooks: Bool
  let time: QueueTime
  let timers: Timers
  let randomNumbers: RandomNumbers
  /// Whether bodies are called as they are, and wherever they are.
  let isPlain: Bool
  /// Whether workers that find nothing to do stay for a moment: not where the executor or the clock is the user's, on which
  /// nothing comes meanwhile, or in an order that is to be the same each time.
  let letsWorkersLinger: Bool
  /// Whether there is a limit to how many may wait.
  let limitsWaiting: Bool
  let broadcaster = EventBroadcaster<ProcedureEvent>()
  private let desk = CrewDesk()
  private let paddingBeforeState = CacheLinePadding()
  private let state: Mutex<QueueState>
  private let paddingAfterState = CacheLinePadding()
  let inbox = Inbox()
  /// Whether work that holds a slot has to ask before it starts the next piece.
  private let gate: Atomic<Bool>
  private let owner = Mutex(Owner())

  private struct Owner {
    weak var object: (any AnyObject & Sendable)?
  }

  init(
    name: String, width: Int, isSuspended: Bool, clock: any Clock<Duration>, executor: (any TaskExecutor)?,
    carriers: [ContextCarrier], resources: ResourceTable, hooks: ProcedureHooks?, room: WaitingRoom, seed: UInt64?
  ) {
    self.name = name
    self.resources = resources
    self.hooks = hooks
    hasFinishHooks = hooks?.hasFinishHooks ?? false
    self.executor = executor
    self.carriers = carriers
    time = QueueTime(clock)
    timers = Timers(time: time, executor: executor)
    randomNumbers = seed.map(RandomNumbers.init) ?? .system
    isPlain = hooks == nil && executor == nil
    letsWorkersLinger = executor == nil && time.isSystem
    limitsWaiting = room.isLimited
    state = Mutex(QueueState(machine: QueueMachine(width: width, isSuspended: isSuspended), room: room))
    gate = Atomic(isSuspended)
  }

  deinit {
    broadcaster.close()
  }

  /// The object that users hold, as long as they do.
  var face: (any AnyObject & Sendable)? {
    owner.withLock { $0.object }
  }

  func adopt(_ face: any AnyObject & Sendable) {
    owner.withLock { owner in owner.object = face }
  }

  var isGated: Bool {
    gate.load(ordering: .relaxed)
  }

  /// One visit to the lock, and then what follows from it.
  @discardableResult
  func visit<R: Sendable>(
    admitting arrivals: Arrivals = .all,
    _ change: (inout QueueState, inout [QueueMachine.Action], inout [QueueState.Effect]) -> R
  ) -> R {
    var effects: [QueueState.Effect] = []
    let result = withState(admitting: arrivals) { state in
      var actions: [QueueMachine.Action] = []
      let result = change(&state, &actions, &effects)
      state.resolve(&actions, &effects)
      state.announceIdle(&effects)
      if state.room.isLimited { state.announceRoom(&effects) }
      updateGate(state)
      return result
    }
    if !effects.isEmpty { perform(effects) }
    return result
  }

  @inline(never)
  func perform(_ effects: [QueueState.Effect]) {
    for effect in effects { perform(effect) }
  }

  /// Called under the lock.
  func updateGate(_ state: borrowing QueueState) {
    let isGated = state.machine.isGated || state.inboxWish == Inbox.plain
    if gate.load(ordering: .relaxed) != isGated { gate.store(isGated, ordering: .relaxed) }
  }

  func perform(_ effect: QueueState.Effect) {
    switch effect {
    case .addWorker(let priority): addWorker(priority: priority)
    case .resume(let waiter): waiter.resume()
    case .grant(let holder): holder.granted()
    case .interrupt(let worker):
      worker.task.cancel()
      unpin(worker)
    case .notify(let handlers): for handler in handlers { handler() }
    case .finishDecided: finishDecided()
    case .closeCrew: desk.close()
    case .closeEvents: broadcaster.close()
    case .tell(let news): ResourceTable.deliver(news)
    case .letGo: break
    case .call(let place): call(place)
    }
  }

  /// Finishes the runs that were decided before their bodies, and those that are decided by that.
  private func finishDecided() {
    while true {
      let batch = state.withLock { state in
        state.isFinishingDecided = !state.decided.isEmpty
        return state.decided.takeAll()
      }
      guard !batch.isEmpty else { return }
      for run in batch { finishBeforeBody(run) }
    }
  }

  // MARK: The crew

  func addWorker(priority: UInt8) {
    let starts = state.withLock { state in
      let starts = !state.crewIsRunning
      state.crewIsRunning = true
      return starts
    }
    // Not below medium: a worker goes on with whatever comes next, which may be urgent.
    desk.place(.add(priority: max(TaskPriority(rawValue: priority), .medium)) { await QueueWorker.work(for: self) })
    if starts { Spawner.startCrew(at: desk, executor: executor) }
  }

  private func unpin(_ worker: QueueWorker) {
    let waiter = state.withLock { _ in
      worker.pins -= 1
      return worker.pins == 0 ? worker.waiter.take() : nil
    }
    waiter?.resume()
  }

  /// Returns when nobody is about to cancel this worker's task.
  func retire(_ worker: QueueWorker) async {
    guard state.withLock({ _ in worker.isSpent }) else { return }
    await Waiter.suspend { waiter in
      state.withLock { _ in
        if worker.pins > 0 { worker.waiter = waiter }
        return worker.pins > 0
      }
    }
  }

  /// The last reference to the queue has gone: what was added still finishes, and nobody can resume the queue but this.
  func orphan() {
    visit { state, actions, _ in
      state.isOrphaned = true
      state.machine.resumed(&actions)
    }
  }

  // MARK: The queue as a whole

  func suspend() {
    visit { state, actions, _ in state.machine.suspended(&actions) }
  }

  func resume() {
    visit { state, actions, _ in state.machine.resumed(&actions) }
  }

  func changeWidth(to width: Int) {
    visit { state, actions, _ in state.machine.widthChanged(to: width, &actions) }
  }

  var width: Int {
    state.withLock { $0.machine.slots.width }
  }

  var isSuspended: Bool {
    state.withLock { $0.machine.isSuspended }
  }

  /// No more is admitted; returns at once.
  func refuse() {
    visit { state, _, _ in
      closeInbox(&state)
      state.machine.shutDown()
    }
  }

  /// Admits nothing more from outside, and returns when nothing is left. A suspended queue is resumed.
  @concurrent func drain() async {
    resume()
    refuse()
    await waitUntilIdle()
  }

  /// Returns when no run is left; inside a body on the queue, when none is left but those that wait for the same.
  func waitUntilIdle() async {
    guard let context = ProcedureContext.current else { return await waitUntilIdle(insideOf: []) }
    // A body that waits for its own queue to be idle does not wait for itself, nor for what it is part of.
    let ancestors = sequence(first: context, next: \.scope.parent).compactMap { $0.scope as? Run }.filter {
      $0.core === self
    }
    await context.awaiting(.queue(self, ancestors.isEmpty ? .emptiness : .idleness), idlers: ancestors) {
      await waitUntilIdle(insideOf: ancestors)
    }
  }

  private func waitUntilIdle(insideOf ancestors: [Run]) async {
    let lender = ProcedureContext.current?.slotHolder
    lender?.lendSlot()
    visit { state, _, _ in
      for run in ancestors where run.member >= 0 { state.machine.idleWaitStarted(run.member) }
    }
    await Waiter.suspend { waiter in
      withState { state in
        if ancestors.isEmpty {
          if !state.machine.isEmpty { state.emptyWaiters.append(waiter) }
          return !state.machine.isEmpty
        }
        if !state.machine.isIdle { state.idleWaiters.append(waiter) }
        return !state.machine.isIdle
      }
    }
    visit { state, _, _ in
      for run in ancestors where run.member >= 0 { state.machine.idleWaitEnded(run.member) }
    }
    await lender?.regainSlot()
  }

  /// Cancels every run that is present, in order of admission.
  ///
  /// - Parameters:
  ///   - reason: Why, if a reason was given.
  ///   - includesLater: Whether runs that come later are cancelled as they come.
  func cancelAll(_ reason: (any Error)?, includesLater: Bool = false) {
    let runs = withState { state in
      closeInbox(&state)
      if includesLater { state.isDoomed = true }
      return state.machine.runIndices.compactMap { state.holders[Int($0)] as? Run }
    }
    for run in runs { cancel(run, reason) }
  }

  // MARK: Single runs

  /// Where a run stands.
  func state(of run: Run) -> ProcedureState {
    withState { state in run.member >= 0 ? state[run].lifecycle.state : .finished }
  }

  func cancellation(of run: Run) -> Run.Cancellation? {
    state.withLock { _ in run.cancellation }
  }

  /// Whether this task is the one that executes the body of a run. (Invariant: see ``QueueWorker``; it is only compared.)
  func isExecuting(_ run: DetachedRun, in task: UnsafeCurrentTask?) -> Bool {
    state.withLock { _ in run.worker.map { $0.task == task } ?? false }
  }

  /// Cancels a run, wherever it stands, and all that it has produced; too late or the second time it does nothing.
  ///
  /// A loop, since what produces may be a long chain.
  func cancel(_ run: Run, _ reason: (any Error)?) {
    var runs: [any ProducedChild] = [run]
    while let run = runs.popLast() as? Run {
      let now = run.core.time.now
      runs += run.core.visit { state, actions, effects in
        run.core.cancel(run, reason, at: now, &state, &actions, &effects)
      }
    }
  }

  /// - Returns: What the run has produced, which has to be cancelled as well, outside of the lock.
  @discardableResult
  func cancel(
    _ run: Run, _ reason: (any Error)?, at now: ProcedureInstant, _ state: inout QueueState,
    _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> [any ProducedChild] {
    guard run.member >= 0 else { return [] }
    let wasCancelled = state[run].lifecycle.isCancelled
    state.machine.cancelRequested(run.member, &actions)
    guard state[run].lifecycle.isCancelled, !wasCancelled else { return [] }
    run.cancellation = Run.Cancellation(reason: reason, at: now)
    record(.didCancel(reason: reason), of: run, at: now, &state)
    // Before the body is told: its handlers would tell its children, and these theirs.
    return run.children?.cancelled(reason) ?? []
  }

  // MARK: Resources

  /// What a run has waited for is there.
  func grantResources(to run: Run) {
    visit { state, actions, effects in
      state.grantResources(to: run, &actions, &effects)
      state.machine.settled(&actions)
    }
  }

  /// What a run waits for will never be there.
  func refuseResources(to run: Run, _ circle: [ExclusionWait]) {
    visit { state, actions, effects in state.refuseResources(to: run, circle, &actions, &effects) }
  }

  /// Tells the body of a run to end, without cancelling the run.
  func stopBody(of run: Run) {
    visit { state, _, effects in
      guard run.member >= 0, state[run].lifecycle.state == .executing || state[run].lifecycle.state == .pausing else {
        return
      }
      state.interrupt(run, &effects)
    }
  }

  // MARK: Loans

  func lend(_ holder: SlotHolder) {
    visit { state, actions, _ in
      if holder.member >= 0 { state.machine.loanStarted(holder.member, &actions) }
    }
  }

  func regain(_ holder: SlotHolder) async {
    let hasSlot = visit { state, actions, _ in
      holder.member < 0 || state.machine.loanEnded(holder.member, &actions)
    }
    if !hasSlot { await waitToRegain(holder) }
  }

  func waitToRegain(_ holder: SlotHolder) async {
    await wait(for: holder) { $0.wantsSlotBack(holder) }
  }

  /// Suspends the current task as long as the member is present and `isWaiting` holds, which is asked under the lock.
  func wait(for holder: SlotHolder, while isWaiting: (borrowing QueueState) -> Bool) async {
    var isOver = false
    while !isOver {
      await Waiter.suspend { waiter in
        withState { state in
          isOver = holder.member < 0 || !isWaiting(state)
          if !isOver { holder.addWaiter(waiter) }
          return !isOver
        }
      }
    }
  }

  /// Lets every task that waits for this member look again whether what it waits for has come.
  func wake(_ holder: SlotHolder) {
    let waiters = state.withLock { _ in holder.takeWaiters() }
    for waiter in waiters { waiter.resume() }
  }

  /// One visit to the lock, from which nothing follows but what `body` does.
  ///
  /// - Parameters:
  ///   - arrivals: Which of the runs that came by the inbox are admitted before.
  ///   - body: Called under the lock.
  /// - Returns: What `body` returns.
  @inline(__always)
  func withState<R: Sendable>(admitting arrivals: Arrivals = .all, _ body: (inout QueueState) -> R) -> R {
    var aftermath: Aftermath?
    let result = state.withLock { state in
      if state.inboxWish != Inbox.closed { admit(arrivals, &state) }
      let result = body(&state)
      if state.hasAftermath { aftermath = takeAftermath(&state) }
      return result
    }
    if let aftermath { perform(aftermath) }
    return result
  }
}
