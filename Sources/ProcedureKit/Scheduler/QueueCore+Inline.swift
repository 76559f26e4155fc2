/// Runs that start and end inline.
///
/// Most runs have only a body. For them, the functions in this file combine several steps in one visit to the lock: the admission and the
/// start of a run in its caller's task, and the end of one run and the start of the next one in a worker. Each step is the function that all
/// other runs use as well (`admitted`, `startBody`, `recordBodyEnd`, `end`), so the rules are stated only once.
///
/// | the run is executed by | it starts inline if | it ends inline if |
/// |---|---|---|
/// | its caller's task (`run`) | it has only a body and no enclosing run, the queue has no hooks, the task is not cancelled, and a slot is free | its body has succeeded, its task is not cancelled, and it has no details |
/// | a worker (`add`) | `Run.canStartInline` | `RunState.endsWithBody` |
///
/// Every other run is driven by `Run.drive` and ends in `Run.finish`.
extension QueueCore {
  // MARK: In the caller's task

  /// Creates the run of a procedure that the caller's task executes, and starts it if it needs nothing but a free slot.
  ///
  /// - Returns: The run, and whether its body has started. If it has not, `drive` admits the run and drives it.
  @usableFromInline
  func startStructured(_ layer: ModifierLayer) -> (run: Run, starts: Bool) {
    let parent = ProcedureContext.current?.run.nearestUnfinished
    let run = Run(self, layer, .structured, parent: parent)
    // A run that needs more than a slot, or that is nested or cancelled, takes the general path: `drive` admits it.
    guard parent == nil, layer.hasOnlyBody, hasNoHooks, !Task.isCancelled else { return (run, false) }
    let priority = layer.traits.rawPriority ?? Task.currentPriority.rawValue
    let reading = time.lazyReading()
    let starts = send { state, effects in
      guard !state.isShutDown, !state.cancelsAdmitted else { return false }
      let step = admitted(run, priority: priority, needs: [], at: reading, &state, &effects)
      // No slot is free, so the run waits in the ready queue, and `drive` awaits its next step.
      guard step == .start else { return false }
      run.startBody(at: reading, &state, &effects)
      return true
    }
    return (run, starts)
  }

  /// Ends a run that `startStructured` started, after its body has succeeded, in one visit to the lock.
  ///
  /// - Returns: Whether the run has ended; `false` if it has details, such as children, observers, or a cancellation. The caller then has
  ///   to call `finish`.
  @usableFromInline
  func endInline(_ run: Run) -> Bool {
    if Task.isCancelled { return false }
    let reading = time.lazyReading()
    return send { state, effects in
      // A run without details has no children, observers, or cancellation.
      guard !state.runs[run].hasDetails else { return false }
      run.endWithBody(.finished(()), at: reading, &state, &effects)
      return true
    }
  }

  // MARK: In a worker

  /// A run for a worker to execute.
  struct Job: ~Copyable, Sendable {
    let run: Run
    /// The body of a run that has started, so the worker only has to call it; `nil` if the worker has to drive the run.
    let startedBody: Run.Body?
  }

  /// Returns the next run for a worker; `nil` if there is none, in which case the worker ends.
  func nextJob(for worker: Worker, isStarting: Bool) -> Job? {
    let reading = time.reading()
    return send { state, effects in takeNext(for: worker, isStarting: isStarting, at: reading, &state, &effects) }
  }

  /// Returns the next run for a worker that has executed `run`; `nil` if there is none, in which case the worker ends.
  func nextJob(for worker: Worker, after run: Run) -> Job? {
    let reading = time.reading()
    return send { state, effects in
      if state.runs[run].worker === worker { state.runs[run].worker = nil }
      // The task of the worker may be cancelled, so it must not execute another run (C6).
      if state.runs[run].details.isCancelledOrStopping { return nil }
      return takeNext(for: worker, isStarting: false, at: reading, &state, &effects)
    }
  }

  /// Gives the next run to a worker, and starts the body in the same visit to the lock if nothing has to be called before it.
  private func takeNext(
    for worker: Worker, isStarting: Bool, at reading: QueueClock.Reading, _ state: inout State, _ effects: inout Effects
  ) -> Job? {
    state.machine.workerAsked(isStarting: isStarting, &effects.next)
    guard let member = effects.next.execute, let run = state.runs[member] else { return nil }
    state.runs[run].worker = worker
    guard run.canStartInline(state.runs) else { return Job(run: run, startedBody: nil) }
    run.startBody(at: reading, &state, &effects)
    // The worker holds the body from now on: nothing else calls it.
    return Job(run: run, startedBody: state.runs[run].body.take())
  }

  /// The result of `endInline` for a run that has ended: the next job of its worker.
  struct Following: ~Copyable, Sendable {
    let job: Job?
    /// The references that the ended run no longer needs, to be released after the lock has been released.
    let released: Run.ReleasedReferences
  }

  /// Ends a run whose body a worker has executed, and gives the worker its next run, in one visit to the lock (L4).
  ///
  /// - Returns: The next job of the worker; `nil` if the run has children, listeners, or a cancellation, and therefore cannot end inline.
  @inline(__always)
  func endInline(_ run: Run, _ outcome: RunOutcome, _ worker: Worker) -> Following? {
    var granted: [Run] = []
    if run.layer.needs.contains(.claim) {
      let isOver = update { runs in
        // The outcome is decided before the resources are released, so that a task that outlives the body claims nothing for the run.
        runs[run].isDecided = runs[run].endsWithBody
        return runs[run].isDecided
      }
      guard isOver else { return nil }
      granted = resources.giveBack(run)
      for other in granted where other.core !== self { other.resumeClaimants() }
    }
    let reading = time.reading()
    let following = send { state, effects -> Following? in
      let endsWithBody = state.runs[run].endsWithBody
      if endsWithBody {
        state.runs[run].worker = nil
        run.endWithBody(outcome, at: reading, &state, &effects)
      }
      for other in granted where other.core === self { other.advanceWithClaim(&state, &effects) }
      guard endsWithBody else { return nil }
      return Following(
        job: takeNext(for: worker, isStarting: false, at: reading, &state, &effects),
        released: run.detachReferences(keepingHooks: false, &state.runs))
    }
    guard let following else { return nil }
    following.released.log?.close()
    return following
  }
}

extension RunState {
  /// Whether the outcome of the run depends only on its body, in which case both can end in one visit to the lock, during which a worker
  /// takes its next run.
  ///
  /// A run with listeners cannot: its dependents become ready before the worker takes another run. Neither can a run with tasks that wait for
  /// its slot: they continue before the run leaves the machine.
  var endsWithBody: Bool {
    guard hasDetails else { return true }
    return !details.isCancelledOrStopping && details.children.producedCount == 0 && details.children.failures.isEmpty
      && details.observers.listeners.isEmpty && details.slotWaiters.isEmpty
  }
}

extension Run {
  /// Returns whether a worker has to do nothing but call the body.
  func canStartInline(_ runs: borrowing RunTable) -> Bool {
    layer.canStartInline && core.hasNoHooks && parent == nil && runs[self].details.bindings.isEmpty
  }

  /// Executes the body of a run that has started, in the task of a worker. Releases the body before the outcome is published.
  ///
  /// - Returns: The next job of the worker; `nil` if there is none.
  @inline(__always) @concurrent
  func execute(_ body: consuming @escaping Body, by worker: Worker) async -> QueueCore.Job? {
    let value: any Sendable
    do {
      value = try await ProcedureContext.bound.withValue(ProcedureContext(self)) { [body] in
        try await body(self, .execute)
      }
    } catch {
      if let next = core.endInline(self, RunOutcome(thrown: error), worker) { return next.job }
      bodyEnded(.failure(error))
      await finish()
      return core.nextJob(for: worker, after: self)
    }
    if let next = core.endInline(self, .finished(value), worker) { return next.job }
    bodyEnded(.success(value))
    await finish()
    return core.nextJob(for: worker, after: self)
  }

  /// Ends the run together with its body, in one visit to the lock (L4): the same steps as in `bodyEnded`, `decide`, and `publish`, for a run
  /// whose outcome depends only on its body (`RunState.endsWithBody`).
  @inline(__always)
  func endWithBody(
    _ outcome: RunOutcome, at reading: QueueClock.Reading, _ state: inout QueueCore.State,
    _ effects: inout QueueCore.Effects
  ) {
    assert(state.runs[self].details.timers.isEmpty, "Only runs without limits end inline.")
    recordBodyEnd(at: reading, &state, &effects)
    state.machine.bodyEnded(state.runs[self].member, &effects.next)
    end(outcome, at: reading, isLast: true, &state, &effects)
  }
}
