/// Internal. How runs go that need nothing but a slot, and find one free: in two short visits to the lock.
///
/// Nothing of this is generic, so that ``ProcedureQueue/run(_:input:)`` can call the body where the types are known. What
/// does not fit goes the long way, which can take over before the body and after it.
extension QueueCore {
  /// Starts a run, if nothing has to be waited for and nobody has to be told of it.
  ///
  /// - Parameter work: What it executes.
  /// - Returns: The run, whose body has started; `nil` if it has to go the long way, and nothing has happened yet.
  @usableFromInline
  func start(_ work: AnyProcedureWork) -> StructuredRun? {
    guard isPlain, work.isBare, work.admission.isFree, !broadcaster.isObserved, ProcedureContext.current == nil,
      !Task.isCancelled
    else {
      return nil
    }
    let run = StructuredRun(work, core: self, wanting: nil, extras: nil)
    let priority = work.traits.contents.rawPriority ?? Task.currentPriority.rawValue
    // Asked again under the lock: whoever sees by that that a run has come later than its subscription is told of the run.
    return withState { !broadcaster.isObserved && $0.startAtOnce(run, priority) } ? run : nil
  }

  /// Admits a run, if it has to wait for nothing but a slot, and with it for resources.
  ///
  /// - Returns: Whether it did; if not, nothing has happened.
  func admitAtOnce(_ run: DetachedRun) -> Bool {
    guard run.isBare, !limitsWaiting, run.conditions.isEmpty else { return false }
    let now = time.now
    run.times.attached = now.nanoseconds
    if comesByInbox(run, at: now) { return true }
    let needsWorker = withState { state -> Bool? in
      guard !state.isDoomed,
        let (member, needsWorker) = state.machine.addedAtOnce(
          priority: run.priority, wantsResources: run.resources != nil, wish: state.wish(of: run))
      else { return nil }
      state.seat(run, at: member)
      state.usualPriority = run.priority
      if broadcaster.isObserved { record(.didAttach, of: run, at: now, &state) }
      updateGate(state)
      return needsWorker
    }
    if needsWorker ?? false { addWorker(priority: run.priority) }
    return needsWorker != nil
  }

  /// Puts a run into the inbox, if it is open for it.
  @inline(__always)
  private func comesByInbox(_ run: DetachedRun, at now: ProcedureInstant) -> Bool {
    var effects: [EventEffect] = []
    let comes = inbox.put(run) {
      if broadcaster.isObserved { recordArrival(of: run, at: now, &effects) }
    }
    if !effects.isEmpty { for effect in effects { effect.perform() } }
    return comes
  }

  /// A worker has executed a run's body: ends the run, if nothing else has to follow, and gives its slot to the next. Those who
  /// wait for its end have to be told, and its body has to be released.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - worker: The worker.
  /// - Returns: The run that is to be executed, and what it holds, and whether `run` keeps nothing of the user's; `nil` if `run`
  ///   has to end the long way.
  func exchange(
    _ run: DetachedRun, for worker: QueueWorker
  ) -> (run: DetachedRun, hold: ResourceHold?, keepsNothing: Bool)? {
    guard run.isBare, !run.hasDependents else { return nil }
    let now = time.now
    var effects: [QueueState.Effect] = []
    let successor = withState(admitting: .none) {
      state -> (run: DetachedRun, hold: ResourceHold?, keepsNothing: Bool)? in
      guard run.cancellation == nil, run.storedLog == nil, !worker.isSpent else { return nil }
      var actions: [QueueMachine.Action] = []
      defer { state.resolve(&actions, &effects) }
      guard let next = succeed(run, &state, &actions, &effects) else { return nil }
      // Whoever added the next may have looked at the clock since.
      let now = max(now, ProcedureInstant(nanoseconds: next.times.attached))
      run.times.ended = now.nanoseconds
      run.publishOutcome()
      run.worker = nil
      if broadcaster.isObserved { recordSuccession(of: run, by: next, at: now, &state) }
      next.worker = worker
      next.times.started = now.nanoseconds
      // The next does not wait to be started any more.
      if limitsWaiting { state.announceRoom(&effects) }
      return (next, next.claim.map(ResourceHold.init), run.keepsNothing(before: next))
    }
    // These may call what is the user's, which is no part of the body.
    if !effects.isEmpty { ProcedureContext.$current.withValue(nil) { perform(effects.takeAll()) } }
    return successor
  }

  /// Lets a run leave, and the next have its slot: one that has come by the inbox, where nobody stands in line, or the first who
  /// does. Called under the lock.
  ///
  /// - Returns: The next; `nil` if the long way has to be gone, and then the run has not left.
  @inline(__always)
  private func succeed(
    _ run: DetachedRun, _ state: inout QueueState, _ actions: inout [QueueMachine.Action],
    _ effects: inout [QueueState.Effect]
  ) -> DetachedRun? {
    if run.resources != nil {
      if let next = succeedByFollower(run, &state) { return next }
      if state.machine.leads(run.member) {
        admitFirstFollower(&state)
        guard state.machine.firstFollower == nil else { return nil }
        state.machine.followingEnded()
      }
      // Who is granted what it held comes first, so this is before anybody is taken.
      state.endClaim(of: run, &actions, &effects)
    }
    if state.inboxWish == Inbox.plain, state.machine.mayBeSucceededByArrival(run.member),
      let next = state.takeArrival(from: inbox)
    {
      state.machine.succeededByArrival(run.member, priority: next.priority)
      state.exchange(run, for: next)
      return next
    }
    if state.inboxWish == Inbox.plain { admit(.first, &state) }
    guard let member = state.machine.successor(of: run.member),
      let next = state.holders[Int(member)]?.detachedRun, next.storedLog == nil
    else { return nil }
    if next.resources != nil, !state.successorClaims(next, &actions, &effects) { return nil }
    state.machine.succeeded(run.member, by: member, &actions)
    if next.resources != nil { state.leadStarted(next) }
    state.forget(run)
    updateGate(state)
    return next
  }

  /// Lets a run leave that others follow, and the first of these have its slot and what it held. Called under the lock.
  ///
  /// - Returns: The first of them; `nil` if the run has not left, and has to go the long way if others follow it.
  private func succeedByFollower(_ run: DetachedRun, _ state: inout QueueState) -> DetachedRun? {
    guard state.machine.mayBeFollowed(run.member) else { return nil }
    if let member = state.machine.firstFollower {
      guard let next = state.holders[Int(member)]?.detachedRun, next.storedLog == nil,
        state.passOn(run, to: next) != nil
      else { return nil }
      state.machine.succeededByFollower(run.member, member)
      state.forget(run)
      return next
    }
    guard state.hasFollowersInbox, let next = state.takeArrival(from: inbox) else { return nil }
    guard let priority = state.passOn(run, to: next) else {
      admit(next, &state)
      return nil
    }
    state.machine.succeededByArrival(run.member, priority: priority, holdsResources: true)
    state.exchange(run, for: next)
    return next
  }

  /// Returns as soon as something stands in line, or after a few microseconds.
  ///
  /// Whoever adds one procedure after another is about as fast as a worker that executes short ones. A worker that ended each
  /// time it has caught up would be made anew for each procedure, which costs several times as much as to execute it.
  func waitForWork() {
    for _ in 0..<Self.mostLooksForWork where isGated { return }
  }

  private static var mostLooksForWork: Int { 4_000 }

  /// The body has returned. Says whether that is the end of the run; if not, the other `finish` has to follow.
  @usableFromInline
  func finish(_ run: StructuredRun) -> Bool {
    guard run.endProduction() == nil, !Task.isCancelled else { return false }
    return withState { !broadcaster.isObserved && $0.finishAtOnce(run) }
  }

  /// The same, whatever the body has come to and whatever has to follow.
  @usableFromInline
  func finish<Output: Sendable>(_ run: StructuredRun, _ result: Result<Output, any Error>) async throws -> Output {
    try await leaveLongWay(run, result)
  }
}

extension QueueState {
  /// Admits a run and starts its body, if there is a slot for it now. Says whether it did; if not, nothing has happened.
  fileprivate mutating func startAtOnce(_ run: StructuredRun, _ priority: UInt8) -> Bool {
    guard !isDoomed, let member = machine.startedAtOnce(priority: priority) else { return false }
    seat(run, at: member)
    return true
  }

  /// Claims what a `successor` wants, unless it holds it. Says whether it does now; if not, it waits for that without a
  /// slot, or its end is decided.
  fileprivate mutating func successorClaims(
    _ run: DetachedRun, _ actions: inout [QueueMachine.Action], _ effects: inout [Effect]
  ) -> Bool {
    guard let wants = run.resources, machine.successorClaims(run.member) else { return true }
    guard claimResources(for: run, wants, &actions, &effects) else { return false }
    machine.resourcesHeldBySuccessor(run.member)
    return true
  }

  /// Ends a run whose body has returned, if nobody waits for that or for its slot. Says whether it did; if not, nothing has
  /// happened.
  fileprivate mutating func finishAtOnce(_ run: StructuredRun) -> Bool {
    guard run.cancellation == nil, idleWaiters.isEmpty, emptyWaiters.isEmpty, !isOrphaned,
      machine.finishedAtOnce(run.member)
    else { return false }
    forget(run)
    if machine.members.isEmpty { holders = [] }
    return true
  }
}
