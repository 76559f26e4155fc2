/// Functions that start and end a run *inline*, that is, in the same critical section as the preceding or the following step.
///
/// Most runs have only a body. If such a run executes in its caller's task, it is admitted and started in one critical section. If it
/// executes in a worker, it ends in the critical section in which the worker's next run starts. Each step calls the same functions as for
/// all other runs (`admitted`, `startBody`, `recordBodyEnd`, `publish`), so each rule is implemented only once.
///
/// Whether a run starts and ends inline depends on what executes the run. A run that does not start inline is started by `Run.drive`, and a
/// run that does not end inline is ended by `Run.finish`.
///
/// | run | starts inline if | ends inline if `RunState.canEndInline` is `true` and |
/// |---|---|---|
/// | in its caller's task (`run`) | `Run.canStartInlineInCallersTask`: it has only a body and resources; the resources and a slot must be free, and the task must not be cancelled | the body succeeded, and the task is not cancelled |
/// | in a worker (`add`) | `Run.canStartInlineInWorker`: it has only a body, conditions, a delay, resources, and a timeout | always |
/// | driven by `Run.drive` | never | it has no hooks after its body, its task is not cancelled, and it is not a produced child that did not succeed |
///
/// A run starts inline only if it has no enclosing run, if the queue has no interceptor, and if the task already executes on the queue's
/// executor. A worker's task always does. In a worker, the queue's carriers must also have captured no values for the run (Q5).
extension QueueCore {
  // MARK: In the caller's task

  /// Creates the run of a procedure that the caller's task executes. Starts the run if it needs only resources and a slot, and all of them
  /// are free.
  ///
  /// - Returns: The run, and whether its body has started. If it has not, the caller must call `runStructured`, which drives the run and,
  ///   if this function has not done so, first admits it.
  @usableFromInline
  func startStructured(_ layer: ModifierLayer) -> (run: Run, starts: Bool) {
    let parent = ProcedureContext.current?.run.nearestUnfinished
    let run = Run(self, layer, .structured, parent: parent)
    // A run that needs more, or that is nested or cancelled, takes the general path: `runStructured` admits it.
    guard run.canStartInlineInCallersTask else { return (run, false) }
    let priority = layer.traits.rawPriority ?? Task.currentPriority.rawValue
    let reading = time.lazyReading()
    let step = send { state, effects -> RunStep in
      guard !state.isShutDown, !state.cancelsAdmitted else { return .wait }
      let step = admitted(run, priority: priority, prerequisites: layer.prerequisites, at: reading, &state, &effects)
      if step == .start { run.startBody(at: reading, &state, &effects) }
      return step
    }
    // The next step is `wait` if the resources or all slots are taken. In that case, `Run.drive` awaits the step that follows.
    return (run, (step == .claim ? run.claim(startsInline: true) : step) == .start)
  }

  /// Ends, in one critical section, a run that `startStructured` started and whose body has succeeded.
  ///
  /// - Returns: Whether the run has ended. If it has not, the caller must call `finish`.
  @usableFromInline
  func finishInline(_ run: Run) -> Bool {
    if Task.isCancelled { return false }
    return finishInline(run, .finished(()), nextFor: nil).hasEnded
  }

  // MARK: In a worker

  /// A run for a worker to execute. If the run has started, the job contains its body; otherwise, the worker has to drive the run.
  struct Job: Sendable {
    let run: Run
    let startedBody: Run.Body?

    /// Returns the parts of the job. Because the job is consumed, the parts are not retained again.
    consuming func taken() -> (run: Run, startedBody: Run.Body?) { (run, startedBody) }
  }

  /// Registers a worker that is starting. Returns the number that identifies the worker, and its first job. The job is `nil` if no run is
  /// ready, in which case the worker ends.
  func firstJob(for worker: CancellableTask) -> (number: Int32, job: Job?) {
    let reading = time.reading()
    return send { state, effects in
      let number = state.workers.insert(worker)
      return (number, takeNext(for: number, isStarting: true, at: reading, &state, &effects))
    }
  }

  /// Returns the next job of a worker that executed `run`. The job is `nil` if no run is ready, or if `run` was cancelled (C6), in which
  /// case the worker ends.
  func nextJob(for worker: Int32, after run: Run) -> Job? {
    let reading = time.reading()
    return send { state, effects in
      if state.runs[run].worker == worker { state.runs[run].worker = -1 }
      // The worker's task may be cancelled, so it must not execute another run (C6).
      if state.runs[run].details.isCancelledOrStopping { return state.workerEnded(worker) }
      return takeNext(for: worker, at: reading, &state, &effects)
    }
  }

  /// Gives the next run to a worker and starts the body in the same critical section if nothing has to be called before the body.
  private func takeNext(
    for worker: Int32, isStarting: Bool = false, at reading: QueueClock.Reading, _ state: inout State,
    _ effects: inout Effects
  ) -> Job? {
    state.machine.workerAsked(isStarting: isStarting, &effects.next)
    guard let member = effects.next.execute, let run = state.runs[member] else { return state.workerEnded(worker) }
    state.runs[run].worker = worker
    guard run.canStartInlineInWorker(state.runs) else { return Job(run: run, startedBody: nil) }
    run.startBody(at: reading, &state, &effects)
    // The worker now owns the body, and nothing else calls it.
    return Job(run: run, startedBody: state.runs[run].body.take())
  }

  // MARK: The end

  /// Ends a run whose body has ended, and gives its worker the next run, in one critical section.
  ///
  /// As in `Run.finish`, the resources and the slot are released before the end is published (R2, L4).
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - outcome: The outcome of the run's body.
  ///   - worker: The worker that executed the body; `nil` if the caller's task executed it.
  /// - Returns: Whether the run has ended, and the next job of the worker, if any. `RunState.canEndInline` determines whether a run can end
  ///   inline.
  @inline(__always)
  func finishInline(_ run: Run, _ outcome: RunOutcome, nextFor worker: Int32?) -> (hasEnded: Bool, next: Job?) {
    let reading = run.keepsInstants ? time.reading() : time.lazyReading()
    var granted: [Run] = []
    // Only a run whose layer has timers or claims has anything to release before its end is published. For all other runs, the locks of
    // the timers and of the resource table are not taken.
    if run.layer.hasTimersOrClaims {
      guard let holdings = update({ $0[run].canEndInline ? run.markDecided(&$0) : nil })
      else { return (false, nil) }
      granted = run.release(holdings)
      for other in granted where other.core !== self { other.resumeClaimants() }
    }
    let ending = send { state, effects -> (next: Job?, released: Run.ReleasedReferences)? in
      // A task may have begun to wait for the slot of the run since the outcome was decided. In that case, `Run.finish` ends the run.
      let endsInline = state.runs[run].canEndInline
      if endsInline {
        state.runs[run].worker = -1
        run.recordBodyEnd(at: reading, &state, &effects)
        // The dependents, and the runs whose claims are granted, become ready before the slot is granted, so they compete for it (Q1).
        state.machine.bodyEnded(state.runs[run].member, grantsSlot: false, &effects.next)
        run.publish(outcome, at: reading, isLast: true, &state, &effects)
      }
      for other in granted where other.core === self { other.advanceWithClaim(&state, &effects) }
      guard endsInline else { return nil }
      if worker == nil { state.machine.grantSlots(&effects.next) }
      let released = run.detachReferences(keepingHooks: false, &state.runs)
      guard let worker else { return (nil, released) }
      return (takeNext(for: worker, at: reading, &state, &effects), released)
    }
    // The references are released after the lock is released.
    guard case (let next, let released)? = ending else { return (false, nil) }
    released.details?.log?.close()
    return (true, next)
  }
}

extension RunState {
  /// Whether the body and the run can end in one critical section, because the outcome depends only on the body. The value is `false` if
  /// the run was cancelled, after which its worker ends (C6), or is being stopped, or if children that its body produced are unfinished or
  /// have failed.
  ///
  /// The value is also `false` if tasks are waiting for the slot of the run, because these tasks must continue before the run leaves the
  /// machine, and if the run has claimed resources again after a pause.
  @inline(__always) var canEndInline: Bool { !hasDetails || detailsAllowInlineEnd }

  private var detailsAllowInlineEnd: Bool {
    !details.isCancelledOrStopping && details.children.producedCount == 0 && details.children.failures.isEmpty
      && details.slotWaiters.isEmpty && !details.claim.hasReclaimed
  }
}

extension Run {
  /// Whether the caller's task can start the run when it admits the run, if the resources and a slot are free.
  var canStartInlineInCallersTask: Bool {
    layer.allowsInlineStartInCallersTask && parent == nil && !core.hasInterceptor && core.isExecutorCurrent
      && !Task.isCancelled
  }

  /// Returns whether a worker can call the body directly, without driving the run.
  func canStartInlineInWorker(_ runs: borrowing RunTable) -> Bool {
    layer.allowsInlineStartInWorker && !core.hasInterceptor && parent == nil
      && (!runs[self].hasDetails || runs[self].details.bindings.isEmpty)
  }

  /// Executes the body of a run that has started, in a worker's task. Releases the body before the outcome is published.
  ///
  /// - Returns: The next job of the worker; `nil` if there is none.
  @inline(__always) @concurrent
  func executeInline(_ body: consuming @escaping Body, by worker: Int32) async -> QueueCore.Job? {
    startTimeout()
    let (outcome, error): (RunOutcome, (any Error)?)
    do {
      let value = try await ProcedureContext.bound.withValue(.init(self)) { [body = consume body] in
        try await body(self, .execute)
      }
      (outcome, error) = (.finished(value), nil)
    } catch let thrown {
      (outcome, error) = (RunOutcome(thrown: thrown), thrown)
    }
    let (hasEnded, next) = core.finishInline(self, outcome, nextFor: worker)
    if hasEnded { return next }
    recordBodyEnd(error.map { .failure($0) } ?? .success(outcome.storedValue))
    await finish()
    return core.nextJob(for: worker, after: self)
  }
}
