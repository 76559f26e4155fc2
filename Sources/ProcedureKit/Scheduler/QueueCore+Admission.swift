/// The admission of runs to a queue.
///
/// Each admission consists of the following steps. The second and the third are performed in one critical section.
///
/// 1. A run whose deadline has passed fails (`Run.lateness`).
/// 2. A queue that was shut down refuses the run, unless a body on the queue starts the run. A queue that has no room for an added run
///    refuses it, unless the run replaces another run.
/// 3. `admitted` adds the run to the machine and records `didAttach`. The machine returns the first step.
/// 4. A run that must not start, for example because its parent was cancelled, is cancelled.
/// 5. The timer for the deadline starts, and the run takes its first step (`Run+Steps.swift`).
///
/// | run | function | difference |
/// |---|---|---|
/// | an added run, or a child that a body produced | `QueueCore.admit` | can have dependencies, and needs room if it was added |
/// | a run that its caller's task drives | `Run.admit` | can be nested; a parent on the same queue adopts it in the same critical section |
/// | a run with only a body and resources, which its caller's task executes | `QueueCore.startStructured` | starts in the same critical section if it has only a body, and in the next one if it has resources |
/// | a node with only a body | `Run.admitAsNode` | its body is already executing |
extension QueueCore {
  /// The result of the critical section in which a queue admits or refuses a run.
  fileprivate enum Admission {
    case admitted(RunStep)
    case refused(AdmissionLimiter.Refusal)
    /// The run was admitted, and the caller's task, which drives it, must cancel it immediately (C2).
    case cancelled
  }

  /// Adds a run to the machine and to the table of runs, and records its admission (L2). Returns the first step of the run.
  @inline(__always)
  func admitted(
    _ run: Run, priority: UInt8, prerequisites: QueueMachine.Prerequisites, order: UInt64 = 0, isNested: Bool = false,
    after dependencies: [any ProcedureDependency] = [], at reading: QueueClock.Reading,
    _ state: inout State, _ effects: inout Effects
  ) -> RunStep {
    if run.keepsInstants { state.runs[run].attach(at: time.instant(of: reading)) }
    let (member, step) = state.machine.admitted(
      .init(
        priority: priority, prerequisites: prerequisites, isDrivenByWorker: run.isDrivenByWorker,
        takesNoSlot: run.slotOwner !== run || !run.needsSlot, isNested: isNested, takesRoom: run.isAddedByUser,
        order: order),
      key: usesKeys && run.slotOwner === run ? (run.keyID, run.weightedKey?.weight ?? 1) : nil,
      partOf: run.isReported ? -1 : state.runs[run.reported].member, &effects.next)
    state.runs.insert(run, at: member)
    if run.kind == .node {
      // The graph has already published `didAttach` for its nodes.
      run.parent.flatMap { state.runs[$0].details.extensions.graph }?.nodeAdmitted(run.id)
    } else {
      run.record(at: time.instant(of: reading), &state, &effects) { _ in
        .init(
          step: .didAttach, dependencies: dependencies.map(\.identity.id), collection: run.layer.traits.collection)
      }
    }
    return step
  }

  // MARK: Added runs

  /// The rule that determines how a run gets room in a queue that limits its waiting runs.
  enum RoomRule: Sendable {
    /// The run gets room according to the queue's overflow policy, and may replace a waiting run.
    case byOverflow
    /// The run gets the room that was reserved for it.
    case reserved
    /// The run gets room only if there is any, and never replaces another run.
    case atOnce
  }

  /// Admits an added run to the queue (L1, D1).
  ///
  /// - Returns: The reason the queue refuses the run; `nil` if the run was admitted, or ended because its deadline had passed.
  func admit(
    _ run: Run, after dependencies: [any ProcedureDependency], room: RoomRule = .byOverflow
  ) -> AdmissionLimiter.Refusal? {
    if !configuration.contextCarriers.isEmpty {
      // The values are captured in the task that adds or produces the run (Q5).
      let bindings = configuration.contextCarriers.map { $0.capture() }
      update { $0[run].details.bindings = bindings }
    }
    if let lateness = run.layer.traits.deadline.flatMap({ run.lateness($0) }) {
      if room == .reserved { send { state, _ in state.limiter.releaseReservation(run.keyID) } }
      run.refuse(lateness)
      return nil
    }
    let own = run.layer.traits.rawPriority ?? Task.currentPriority.rawValue
    // A child has at least the priority of the body that produced it (Q7).
    let priority = max(own, run.parent?.currentPriority ?? 0)
    var admission = enter(run, priority: priority, after: dependencies, room: room)
    // A body on this queue can still add runs during a shutdown, because the shutdown waits for them (Q4). This is the only case in which
    // it matters whether the caller is a body on the queue.
    if case .refused(.shutDown) = admission, isAround(run.parent ?? ProcedureContext.current?.run.nearestUnfinished) {
      admission = enter(run, priority: priority, after: dependencies, room: room, isFromBody: true)
    }
    if case .refused(let refusal) = admission {
      if refusal == .shutDown, room == .reserved { send { state, _ in state.limiter.releaseReservation(run.keyID) } }
      return refusal
    }
    run.startDeadline()
    if case .admitted(let step) = admission, step != .wait { run.advance(from: step) }
    for dependency in dependencies { watch(dependency, for: run, priority) }
    if !dependencies.isEmpty, run.mayBeAwaited { DeadlockSearch.resolveDeadlock(from: run) }
    return nil
  }

  /// Admits or refuses an added run in one critical section. If `isFromBody` is `true`, the run is admitted even during a shutdown.
  private func enter(
    _ run: Run, priority: UInt8, after dependencies: [any ProcedureDependency], room: RoomRule, isFromBody: Bool = false
  ) -> Admission {
    let reading = time.reading()
    var prerequisites = run.layer.prerequisites
    if !dependencies.isEmpty { prerequisites.insert(.dependencies) }
    return send { state, effects in
      // After a shutdown, only bodies on the queue can add runs (Q4).
      guard !state.isShutDown || isFromBody else { return .refused(.shutDown) }
      if room == .reserved { state.limiter.releaseReservation(run.keyID) }
      var replaced: Run?
      if limitsWaiting, run.parent == nil, room != .reserved,
        let refusal = state.limiter.refusal(for: run.keyID, state.machine)
      {
        // The queue or the key is full, so the run either replaces a waiting run or is refused.
        guard room == .byOverflow, let member = state.limiter.takeReplaceable(of: run.keyID, state.machine),
          let waiting = state.runs[member]
        else { return .refused(refusal) }
        replaced = waiting
      }
      if !dependencies.isEmpty {
        state.runs[run].details.dependencies.handles = dependencies
        state.runs[run].details.dependencies.missingCount = Int32(dependencies.count)
      }
      let step = admitted(
        run, priority: priority, prerequisites: prerequisites, after: dependencies, at: reading, &state, &effects)
      if limitsWaiting { state.limiter.addReplaceable(state.runs[run].member, of: run.keyID, state.machine) }
      // The replaced run is cancelled in the same critical section, so that it cannot start after it has been replaced.
      if let replaced {
        let reason = ProcedureError(.replaced, procedure: replaced.identity) { $0.replacement = run.identity }
        replaced.mark(reason, at: reading, &state, &effects)
      }
      if state.cancelledByShutdown != nil, run.parent == nil {
        // The grace period has ended, so the run is cancelled like the runs that were on the queue when the period ended.
        let reason = ProcedureError.queueShutDown(procedure: run.identity, queue: name, wasAdmitted: true)
        run.mark(reason, at: reading, &state, &effects)
        if let record = CancelledRun(run, state) { state.cancelledByShutdown?.append(record) }
        return .admitted(.wait)
      }
      // All runs, including later ones, were cancelled, for example because the scope failed. The run is cancelled here, so that no worker
      // starts it first.
      if state.cancelsAdmitted, !run.cancellationScope.isShielded {
        run.mark(nil, at: reading, &state, &effects)
        return .admitted(.wait)
      }
      return .admitted(step)
    }
  }
}

extension Run {
  // MARK: Runs that the caller's task drives

  /// Admits a run that the caller's task drives.
  ///
  /// - Returns: The first step of the run; `finish` if the run was refused, or if it was cancelled but already has its slot (C2).
  func admit() -> RunStep {
    if let deadline = layer.traits.deadline, let lateness = lateness(deadline) {
      _ = parent?.adopt(self)
      refuse(lateness)
      return .finish
    }
    switch enterQueue() {
    case .admitted(let step):
      startDeadline()
      return step
    case .refused(let refusal):
      refuse(refusal.error(of: self))
      return .finish
    case .cancelled:
      startDeadline()
      cancelLikeParent()
      // A run that already has its slot ends here, without starting its body (C2). For any other run, the cancellation delivers the next
      // step.
      return core.read { $0.machine.phase(of: $0.runs[self].member) == .starting ? .finish : .wait }
    }
  }

  /// Adds the run to its parent and, unless the queue was shut down, to the machine. A nested run is admitted even after a shutdown (Q4).
  private func enterQueue() -> QueueCore.Admission {
    // A run within a body on the same queue is nested: it takes its position in the order of admission from the body, has at least the
    // body's priority, and is not held back. The search begins with the owner of the slot, which is the nearest enclosing body, so that
    // deeply nested layers do not visit all of their ancestors.
    let around =
      slotOwner !== self && slotOwner.core === core
      ? slotOwner : ancestors.dropFirst().first { $0.core === core && $0.slotOwner === $0 }
    let isNested = around != nil || slotOwner !== self
    let reading = core.time.lazyReading()
    // A parent on another queue adopts the run under that queue's lock. Any other parent adopts the run in the critical section of the
    // admission.
    let parentHere = parent?.core === core ? parent : nil
    if parentHere == nil { _ = parent?.adopt(self) }
    var progress: ProgressNode?
    let admission = core.send { state, effects -> QueueCore.Admission in
      // `startStructured` may have already admitted the run.
      if state.runs[self].member >= 0 { return .admitted(.wait) }
      progress = parentHere?.adopt(self, isProduced: false, &state.runs).progress
      guard !state.isShutDown || isNested else { return .refused(.shutDown) }
      let place = around.map { state.runs[$0].member } ?? -1
      let enclosing = place >= 0 ? state.machine[place] : nil
      // A copy of a hedge has the priority of the body that contains the hedge.
      let declared = kind == .copy ? nil : layer.traits.rawPriority
      let own = declared ?? enclosing?.priority ?? Task.currentPriority.rawValue
      // A nested run has at least the priority of the enclosing body (Q7).
      let step = core.admitted(
        self, priority: max(own, enclosing?.priority ?? 0), prerequisites: layer.prerequisites,
        order: enclosing?.order ?? 0,
        isNested: isNested, at: reading, &state, &effects)
      if state.cancelsAdmitted && !cancellationScope.isShielded { return .cancelled }
      // If the parent was cancelled before it adopted the run, it could not cancel the run, so the run is cancelled here.
      let isParentCancelled = parentHere.map { state.runs[$0].details.isCancelledOrStopping } ?? false
      return isParentCancelled && !cancellationScope.cleansUp ? .cancelled : .admitted(step)
    }
    progress?.adopt(self)
    guard case .admitted = admission else { return admission }
    let isParentCancelled = parentHere == nil && parent?.isCancelledOrStopping ?? false
    return isTaskCancelled || isParentCancelled && !cancellationScope.cleansUp ? .cancelled : admission
  }

  // MARK: Nodes

  /// Admits the run of a node whose body is already executing.
  func admitAsNode() -> Adoption {
    let adoption = parent?.adopt(self) ?? .refused
    guard adoption != .refused else { return .refused }
    let reading = core.time.lazyReading()
    core.send { state, effects in
      _ = core.admitted(self, priority: 0, prerequisites: [], isNested: true, at: reading, &state, &effects)
      startBody(at: reading, &state, &effects)
    }
    return adoption
  }
}
