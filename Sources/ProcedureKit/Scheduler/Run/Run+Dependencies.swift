extension QueueCore {
  /// Raises the priority of a dependency to that of its dependent (Q7), and notifies the dependent when the dependency finishes (D1).
  func watch(_ dependency: any ProcedureDependency, for run: Run, _ priority: UInt8) {
    let dependency = dependency.asRunDependency
    let other = dependency.dependencyRun
    other.core.raise(other, to: priority)
    other.setObserved()
    other.whenFinished(by: run.id, .dependent(run, acceptsFailure: dependency.neverFails))
  }
}

extension Run {
  /// Adds a dependency to a run that has not started (D1). Returns `false` if the body has been called or if the run has ended.
  func addDependency(_ dependency: any ProcedureDependency) -> Bool {
    let priority = core.send { state, effects -> UInt8? in
      let step = state.machine.dependencyAdded(state.runs[self].member)
      if step == .stale { return nil }
      state.runs[self].details.dependencies.handles.append(dependency)
      state.runs[self].details.dependencies.missingCount += 1
      if step == .releaseClaim { releaseHeldClaim(&effects) }
      return self.priority(state)
    }
    guard let priority else { return false }
    core.watch(dependency, for: self, priority)
    // The dependency may itself be waiting for this run.
    if mayBeAwaited { DeadlockSearch.resolveDeadlock(from: self) }
    return true
  }

  /// Fails the run because one of its dependencies is waiting for it, directly or through other runs (R4).
  func refuseDependencies(_ error: ProcedureError) {
    let dependencies = core.update { $0[self].details.dependencies.handles.takeAll() }
    for dependency in dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
    core.send { state, effects in finishWithoutStart(.failed(error), interruptsStep: true, &state, &effects) }
  }

  /// Records that a dependency of the run finished (D1).
  ///
  /// The run advances when its last dependency finishes. If the dependency did not succeed, the run finishes without starting. This
  /// interrupts any step in progress, such as an evaluation of conditions during which the dependency was added.
  func dependencyFinished(
    _ dependency: Run, _ outcome: ProcedureOutcome<Void>, at reading: QueueClock.Reading,
    _ state: inout QueueCore.State, _ effects: inout QueueCore.Effects
  ) {
    let failure: RunOutcome.Failure
    switch outcome {
    case .finished:
      state.runs[self].details.dependencies.missingCount -= 1
      guard state.runs[self].details.dependencies.missingCount == 0 else { return }
      // The step is `stale` if the run has ended, or is still in the step during which the dependency was added.
      let step = state.machine.dependenciesSucceeded(state.runs[self].member, &effects.next)
      QueueCore.deliver(step, to: self, &state.runs, &effects)
      return effects.add(.release(state.runs[self].details.dependencies.handles.takeAll()))
    case .cancelled(let reason):
      // A run that is being stopped because a child failed no longer waits for its dependencies.
      guard state.machine.phase(of: state.runs[self].member).awaitsStart else { return }
      mark(reason, at: reading, &state, &effects)
      return
    case .failed(let error):
      if dependency.core !== core { state.runs[self].details.dependencies.failsFromOutside = true }
      failure = .failed(ProcedureError.dependencyFailed(of: identity, dependency.identity, error))
    case .ignored(let condition): failure = .ignored(by: condition)
    }
    finishWithoutStart(failure, interruptsStep: true, &state, &effects)
  }
}
