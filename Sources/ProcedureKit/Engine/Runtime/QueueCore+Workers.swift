/// Internal. What workers are given to do, and how they come back.
extension QueueCore {
  /// What a worker is to do next.
  enum Assignment: Sendable {
    case evaluate(DetachedRun, [Condition], [ContextCarrier.Binding])
    case execute(WorkerFrame)
    /// Call what is to be called when a run ends.
    case conclude(DetachedRun)
    /// Nothing at this moment; ask again after a while.
    case pause
    /// Nothing at this moment: `linger`, once the worker has let go of all that it has executed. That may call what is the user's and
    /// take any time, and as long as a worker lingers none is ordered.
    case idle
    case end
  }

  // None of what a worker calls is inlined: its function would hold each once for every place where it may suspend.

  /// A worker has started and asks for its first work.
  @inline(never)
  func startWorker(_ worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      assign(to: worker, isNew: true, mayStay: false, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has found nothing to do, and let go of all that it has executed: it stays for a moment, unless another does, and asks
  /// once more.
  @inline(never)
  func linger(_ worker: QueueWorker) -> Assignment {
    let lingers = withState(admitting: .first) { $0.machine.lingeringStarted() }
    if lingers { waitForWork() }
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      if lingers { state.machine.lingeringEnded() }
      return assign(to: worker, mayStay: false, at: now, &state, &actions, &effects)
    }
  }

  /// A worker asks for work after a pause.
  @inline(never)
  func continueWorker(_ worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit(admitting: .first) { state, actions, effects in
      assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has evaluated a run's conditions and asks for its next work.
  @inline(never)
  func settleConditions(of run: DetachedRun, _ verdict: ConditionVerdict, judgedBy worker: QueueWorker) -> Assignment {
    let now = time.now
    return visit { state, actions, effects in
      run.worker = nil
      if run.member >= 0, state[run].lifecycle.state == .evaluating {
        switch verdict {
        case .satisfied: state.machine.conditionsSettled(run.member, .satisfied, &actions)
        case .ignored(let condition):
          run.store(.ignored(by: condition))
          state.machine.conditionsSettled(run.member, .unsatisfied, &actions)
        case .failed(let condition, let error):
          run.store(
            .failed(
              ProcedureError.conditionFailed(procedure: run.identity, condition: condition, underlying: error)))
          state.machine.conditionsSettled(run.member, .unsatisfied, &actions)
        }
      }
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// A worker has executed a body and asks for its next work, or for none yet. The run has finished when this returns.
  @inline(never)
  func finishBody(of run: DetachedRun, executedBy worker: QueueWorker, pauses: Bool) -> Assignment {
    let now = time.now
    // What depends on the run may come first now, so it is told before anybody is taken.
    let hasDependents = run.hasDependents
    let hasEnding = run.hasEnding
    var log: EventLog?
    let assignment = visit(admitting: .first) { state, actions, effects -> Assignment? in
      // Its slot is left free, and what comes must not have a worker made for it: this one takes it, once they have been told.
      if hasDependents { closeInbox(&state) }
      state.machine.bodyEnded(run.member)
      run.worker = nil
      recordEndOfBody(of: run, at: now, &state)
      if hasEnding {
        // Whoever asks for its events meanwhile is told that the body has ended.
        run.times.ended = now.nanoseconds
        state.endClaim(of: run, &actions, &effects)
        state.machine.concluded(run.member, &actions)
      } else {
        log = leave(run, at: now, &state, &actions, &effects)
      }
      if hasDependents { return nil }
      if pauses, !worker.isSpent {
        state.machine.settled(&actions)
        return .pause
      }
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
    if !hasEnding { end(run, log) }
    return assignment ?? (pauses ? pause(worker) : continueWorker(worker))
  }

  /// A worker will ask for work after a pause.
  private func pause(_ worker: QueueWorker) -> Assignment {
    visit { state, actions, _ in
      state.machine.settled(&actions)
      return worker.isSpent ? .end : .pause
    }
  }

  /// The outcome of a run with an ending can be read from now on.
  @inline(never)
  func publish(_ run: DetachedRun) {
    let now = time.now
    let log = visit { state, _, _ in
      run.times.ended = now.nanoseconds
      record(.willFinish(run.outcomeWithoutValue), of: run, at: now, &state)
      run.publishOutcome()
      record(.didFinish(run.outcomeWithoutValue), of: run, at: now, &state)
      return run.storedLog
    }
    end(run, log)
  }

  /// A worker has carried out a run's ending, and asks for its next work.
  @inline(never)
  func finishEnding(of run: DetachedRun, by worker: QueueWorker) -> Assignment {
    run.releaseEnding()
    let now = time.now
    return visit { state, actions, effects in
      state.unseat(run, &actions, &effects)
      return assign(to: worker, at: now, &state, &actions, &effects)
    }
  }

  /// How many runs one visit to the lock finds unable to go on before it is left.
  private static let mostClaimsAtOnce = 64

  // With `mayStay`, a worker that finds nothing may linger; and where it has claimed something in vain, since that may come soon.
  private func assign(
    to worker: QueueWorker, isNew: Bool = false, mayStay: Bool = true, at now: ProcedureInstant,
    _ state: inout QueueState, _ actions: inout [QueueMachine.Action], _ effects: inout [QueueState.Effect]
  ) -> Assignment {
    if worker.isSpent {
      state.machine.settled(&actions)
      return .end
    }
    var work = state.machine.workerAsked(isNew: isNew, &actions)
    var claims = 0
    while true {
      switch work {
      case .end: return (mayStay || claims > 0) && letsWorkersLinger ? .idle : .end
      case .evaluate(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        run.worker = worker
        return .evaluate(run, run.conditions, run.bindings)
      case .claim(let member):
        guard let run = state.holders[Int(member)]?.detachedRun, let request = run.resources else { return .end }
        claims += 1
        if claims > Self.mostClaimsAtOnce {
          state.machine.claimPutOff(member)
          return .pause
        }
        if state.claimResources(for: run, request, &actions, &effects) {
          work = state.machine.resourcesTaken(member)
        } else {
          work = state.machine.workerAsked(isNew: false, &actions)
        }
      case .conclude(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        state.endClaim(of: run, &actions, &effects)
        if !run.dependencyHandles.isEmpty { effects.append(.letGo(run.dependencyHandles.takeAll())) }
        return .conclude(run)
      case .execute(let member):
        guard let run = state.holders[Int(member)]?.detachedRun else { return .end }
        run.worker = worker
        // Whoever added it may have looked at the clock since.
        let now = max(now, ProcedureInstant(nanoseconds: run.times.attached))
        run.times.started = now.nanoseconds
        if run.resources != nil { state.leadStarted(run) }
        record(.willExecute(attempt: 1), of: run, at: now, &state)
        return .execute(WorkerFrame(run, holding: run.claim.map(ResourceHold.init)))
      }
    }
  }
}
