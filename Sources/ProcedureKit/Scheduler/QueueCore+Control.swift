import Synchronization

extension QueueCore {
  // MARK: The queue as a whole

  func suspend() {
    send { state, effects in
      for member in state.machine.suspended() { state.runs[member]?.giveBackClaim(&effects) }
      gate.store(true, ordering: .releasing)
    }
  }

  func resume() {
    send { state, effects in resumed(&state, &effects) }
  }

  func resumed(_ state: inout State, _ effects: inout Effects) {
    state.machine.resumed(&effects.next)
    gate.store(false, ordering: .releasing)
    effects.call(state.resumption.takeAll())
  }

  /// Waits while the queue is suspended: a graph that executes starts no further node (Q2).
  func waitWhileSuspended(_ run: Run) async {
    while gate.load(ordering: .acquiring), !run.isCancelledOrStopping {
      let signal = OneShotSignal()
      let isSuspended = send { state, _ in
        guard state.machine.isSuspended else { return false }
        state.resumption.append(signal)
        return true
      }
      guard isSuspended else { return }
      _ = await run.withSlotReleased { await run.wait(at: signal) }
    }
  }

  /// Whether the queue is suspended, without the lock.
  var isGated: Bool { gate.load(ordering: .relaxed) }

  /// The last reference to the queue has gone: it goes on if it was suspended, since nobody could resume it, and its events end with its last run.
  func release() {
    send { state, effects in
      state.isReleased = true
      resumed(&state, &effects)
      Self.wakeIfIdle(&state, &effects)
    }
  }

  func events(bufferingNewest newest: Int) -> AsyncStream<ProcedureEvent> {
    broadcaster.subscribe(limit: eventLimit(newest: newest)).stream { [name] in
      await ProcedureContext.lendingSlot(forEventOf: name, $0)
    }
  }
  func eventLimit(newest: Int) -> EventLimit<ProcedureEvent> {
    EventLimit(newest: newest) { [name] in .gap($0, before: $1, on: name) }
  }
  func changeWidth(to width: Int) { send { state, effects in state.machine.widthChanged(to: width, &effects.next) } }
  var width: Int { read { $0.machine.width } }
  var isSuspended: Bool { read { $0.machine.isSuspended } }

  /// The runs that are there, in the order of their admission.
  func runs() -> [Run] {
    read { state in state.machine.present.map { state.runs[$0] }.compactMap(\.self) }
  }

  /// Cancels every run at once: none of them starts because another one has ended by that.
  func cancelAll(_ reason: (any Error)?, includesLater: Bool = false) {
    cancelRuns(includesLater: includesLater) { _, _ in RunDetails.Cancellation(reason: reason) }
  }

  /// Cancels at once the runs for which `choose`, called under the lock, returns a cancellation.
  func cancelRuns(
    includesLater: Bool = false, _ choose: (Run, QueueMachine.Member) -> RunDetails.Cancellation?
  ) {
    let reading = time.reading()
    send { state, effects in
      if includesLater { state.cancelsAdmitted = true }
      for member in state.machine.present {
        let entry = state.machine[member]
        guard let run = state.runs[member], run.isReported, let cancel = choose(run, entry) else { continue }
        run.mark(cancel.reason, at: reading, &state, &effects)
      }
    }
  }

  /// The queue takes nothing more; what is there goes on although the queue was suspended.
  func shutDown() {
    send { state, effects in
      state.isShutDown = true
      resumed(&state, &effects)
      for caller in state.limiter.takeAllCallers(state.machine) { effects.add(.giveRoom(caller)) }
      Self.wakeIfIdle(&state, &effects)
    }
  }

  /// Waits until no run is there. A body of this queue waits until no run is there but those that wait for the same (Q4).
  func waitUntilIdle() async {
    let bodies = ProcedureContext.current?.run.nearestUnfinished?.ancestors.filter { $0.core === self } ?? []
    let signal = OneShotSignal()
    send { state, effects in
      for body in bodies { state.machine.idleWaitStarted(state.runs[body].member) }
      if bodies.isEmpty { state.emptyWaiters.append(signal) } else { state.idleWaiters.append(signal) }
      Self.wakeIfIdle(&state, &effects)
    }
    if !signal.isResolved {
      await ProcedureContext.waiting(for: .idle(self), at: signal) { await signal.waitUntilResolved() }
    }
    send { state, _ in
      for body in bodies { state.machine.idleWaitEnded(state.runs[body].member) }
    }
  }

  func wakeIfIdle() {
    send { state, effects in Self.wakeIfIdle(&state, &effects) }
  }

  @inline(__always)
  static func wakeIfIdle(_ state: inout State, _ effects: inout Effects) {
    if state.isReleased || state.isShutDown, state.machine.count == 0 { effects.add(.endEvents) }
    if !state.emptyWaiters.isEmpty, state.machine.count == 0 { effects.call(state.emptyWaiters.takeAll()) }
    if !state.idleWaiters.isEmpty, state.machine.isIdle { effects.call(state.idleWaiters.takeAll()) }
  }

  /// The runs for which a run waits that waits for this queue to be idle.
  func runs(awaitedBy run: Run) -> [Run] {
    let isInside = run.ancestors.contains { $0.core === self }
    return read { state in
      var runs: [Run] = []
      for member in state.machine.present {
        let entry = state.machine[member]
        if entry.isNested || (isInside && entry.idleWaits > 0) { continue }
        if let run = state.runs[member] { runs.append(run) }
      }
      return runs
    }
  }

  // MARK: Failures

  var failures: [ProcedureFailure] { read { $0.failures } }

  /// Returns the failures of a scope at its end. Failures after that are unobserved ones.
  func endScope() -> [ProcedureFailure] {
    send { state, _ in
      state.isScopeOver = true
      return state.failures
    }
  }

  /// A run has an outcome: a scope collects the failures of added runs.
  @inline(__always)
  func ended(_ run: Run, _ outcome: Run.Outcome, _ state: inout State, _ effects: inout Effects) {
    guard case .failed(let error) = outcome, run.isAddedByUser, case .scope(let policy, _) = failureHandling,
      !state.isScopeOver
    else { return }
    run.setObserved()
    // A dependency in this scope has been collected itself.
    if (error as? ProcedureError)?.kind == .dependencyFailed, !state.runs[run].details.dependencies.failsFromOutside {
      return
    }
    if policy == .failFast { effects.add(.cancelAll) }
    state.failures.append(ProcedureFailure(procedure: run.identity, error: error))
  }

  func reportUnobservedFailure(_ failure: ProcedureFailure) {
    switch failureHandling {
    case .scope(_, let handler), .unobserved(let handler): handler.map { $0(failure) } ?? logUnobserved(failure)
    }
  }

  // MARK: Priority

  /// Moves a run up, and those that it waits for: its dependencies, its children, and the holders of what it claims (Q7).
  func raise(_ run: Run, to priority: UInt8) {
    let (isClaiming, dependencies, children) = send { state, _ -> (Bool, [any ProcedureDependency], [Run]) in
      let member = state.runs[run].member
      guard member >= 0, state.machine.raised(member, to: priority) else { return (false, [], []) }
      return (
        state.machine[member].phase == .claiming, state.runs[run].details.dependencies.handles,
        state.runs[run].details.children.byID.inOrder
      )
    }
    if isClaiming { resources.raise(run, to: priority) }
    guard !(dependencies.isEmpty && children.isEmpty) else { return }
    Trampoline.call {
      for other in dependencies.map(\.asRunDependency.dependencyRun) + children {
        other.core.raise(other, to: priority)
      }
    }
  }
}

extension QueueCore {
  /// Decides whether a timer has to look for a stall, after each event.
  func watchForStall(_ state: inout State, _ effects: inout Effects) {
    let canMove = state.machine.count > 0 && !state.machine.isSuspended
    if state.stall.changed(canMove: canMove, changes: state.machine.changeCount) { effects.add(.watchForStall) }
  }

  /// Schedules or cancels the timer.
  func adjustStallTimer() {
    guard let stallReport else { return }
    switch send({ state, _ in state.stall.adjusted(changes: state.machine.changeCount) }) {
    case .none: break
    case .cancel(let timer): timers.cancel(timer)
    case .schedule(let number):
      // The queue may go while the timer is pending.
      let calls = timers.calledCount
      let timer = timers.schedule(after: stallReport.timeout) { [weak self] in
        self?.stallTimerWentOff(number, callsBefore: calls)
      }
      if !send({ state, _ in state.stall.scheduled(timer, number: number) }) { timers.cancel(timer) }
    }
  }

  private func stallTimerWentOff(_ number: UInt64, callsBefore: Int) {
    // Another timer that has gone off since may have woken a task that has not come to the queue yet.
    let awaitsTimer = timers.count > 0 || timers.calledCount > callsBefore + 1
    let finding = send { state, _ in
      state.stall.timerWentOff(number: number, changes: state.machine.changeCount, awaitsTimer: awaitsTimer)
    }
    switch finding {
    case .nothing: break
    case .lookAgain: adjustStallTimer()
    case .stall: stallReport?.tell(self)
    }
  }
}

extension QueueCore {
  /// Waits until there is room for one more run, on the queue and of its key, and reserves it.
  ///
  /// - Throws: `CancellationError`, or the reason of the cancel, if the caller is cancelled before there is room;
  ///   `exclusionDeadlock` if the caller is a body for which the queue waits.
  func reserveRoom(for key: InternedKey?) async throws {
    guard limitsWaiting else { return }
    let id = key.map(ObjectIdentifier.init)
    if send({ state, _ in state.limiter.reserveIfFree(for: id, state.machine) }) { return }
    let signal = OneShotSignal()
    let hasRoom = send { state, _ in
      if state.isShutDown { state.limiter.addReservation(id) }
      if state.isShutDown || state.limiter.reserveIfFree(for: id, state.machine) { return true }
      state.limiter.enqueue(AdmissionLimiter.Caller(signal: signal, key: id))
      return false
    }
    guard !hasRoom else { return }
    if let run = ProcedureContext.current?.run.nearestUnfinished {
      await ProcedureContext.waiting(for: .room(self, key), at: signal) { _ = await run.wait(at: signal) }
    } else {
      _ = await signal.wait()
    }
    let refusal = signal.refusal
    guard signal.wasCancelled || refusal != nil else { return }
    // The room may be enough for another caller.
    send { state, _ in state.limiter.callerCancelled() }
    throw refusal ?? ProcedureContext.current?.cancellationReason ?? CancellationError()
  }

  /// Reserves room for one more run if there is room at once and the queue admits the run; nobody is overtaken or replaced.
  func reserveRoomAtOnce(for key: InternedKey?) -> Bool {
    if read({ $0.isShutDown }), !isAround(ProcedureContext.current?.run.nearestUnfinished) { return false }
    return !limitsWaiting
      || send { state, _ in state.limiter.reserveIfFree(for: key.map(ObjectIdentifier.init), state.machine) }
  }

  /// The runs one of which has to start so that there is room; none if there is room, or room is about to be used.
  func runsWaiting(for key: InternedKey?) -> [Run] {
    let id = key.map(ObjectIdentifier.init)
    return read { state in
      guard let waitsForKey = state.limiter.waitsForKey(id, state.machine) else { return [] }
      var runs: [Run] = []
      for member in state.machine.present {
        let entry = state.machine[member]
        guard entry.takesRoom, entry.phase.isBeforeStart, let run = state.runs[member] else { continue }
        if !waitsForKey || run.keyID == id { runs.append(run) }
      }
      return runs
    }
  }
}

extension QueueCore {
  /// The log of the queue, else the log of the process.
  package var log: ProcedureLog { ownLog ?? .shared }

  /// The metadata of messages of a run.
  func logFacts(of run: ProcedureIdentity, attempt: Int?, parent: ProcedureID?) -> ProcedureLog.Metadata {
    var facts = ["procedure.id": "\(run.id)", "procedure.name": run.name]
    if let attempt { facts["attempt"] = "\(attempt)" }
    if self !== QueueCore.unqueued { facts["queue.name"] = name }
    if let parent { facts["parent"] = "\(parent)" }
    return facts
  }

  /// Tells of a failure that no handle can show any more.
  func logUnobserved(_ failure: ProcedureFailure) {
    log.from { [self] in logFacts(of: failure.procedure, attempt: nil, parent: nil) }
      .warning(
        "\(failure.procedure) failed, and its handle was dropped unread: \(failure.error). "
          + "Await its value, or set onUnobservedFailure.")
  }

  /// Tells that nothing moves on the queue.
  func logStall() {
    log.from { [name] in ["queue.name": name] }.warning("the queue has stalled: \(snapshot())")
  }
}

extension QueueCore {
  /// Whether runs are measured at this moment.
  var isMeasured: Bool { collectsTotals || broadcaster.isObserved }
}

extension QueueCore.State {
  /// Begins or ends measuring, and tells the machine the instant of the next event.
  mutating func measure(at instant: ProcedureInstant?) {
    guard let instant else {
      machine.meters = nil
      return
    }
    machine.now = instant.nanoseconds
    if machine.meters == nil { machine.meters = RunMeters() }
  }

  /// Counts a run that has ended, or was refused.
  mutating func count(_ run: Run, _ outcome: Run.Outcome, _ metrics: ProcedureMetrics?) {
    if run.kind == .node || run.kind == .bareNode, let metrics { totals?.countNode(metrics) }
    guard run.kind == .added || run.kind == .structured else { return }
    totals?.count(outcome.withoutValue, metrics, isReused: runs[run].details.extensions.isReused)
  }
}

extension Run {
  /// The metrics of the run at its end; `nil` if the run was not measured from its beginning.
  func metrics(at instant: ProcedureInstant, _ state: borrowing QueueCore.State) -> ProcedureMetrics? {
    let member = state.runs[self].member
    guard var metrics = state.machine.meters?.metrics(of: member, at: instant.nanoseconds) else { return nil }
    let pause = state.runs[self].details.pause
    metrics.attempts = state.runs[self].hasStarted ? pause.latestAttempt + pause.innerRetryCount : 0
    // A node has waited for other nodes since its graph began.
    if kind == .node, let parent, let graph = state.runs[parent].details.extensions.graph {
      metrics.pending += graph.timeSinceStart(to: instant, without: metrics.total)
    }
    return metrics
  }

  /// How long the body has stood in line for its slot, in nanoseconds; negative if that is not known.
  func slotWait(_ state: borrowing QueueCore.State) -> Int64 {
    // The slot of another run was taken for something else.
    slotOwner === self ? state.machine.meters?.slotWait(of: state.runs[self].member) ?? -1 : -1
  }

  /// The number of the slot in which the body executes; -1 if that is not known.
  func slotNumber(_ state: borrowing QueueCore.State) -> Int32 {
    state.machine.meters?.slot(of: state.runs[slotOwner].member) ?? -1
  }
}
