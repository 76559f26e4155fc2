extension QueueCore {
  /// Raises the priority of a dependency to that of its dependent (Q7), and settles the dependency when it finishes (D1).
  func watch(_ dependency: any ProcedureDependency, for run: Run, _ priority: UInt8) {
    let dependency = dependency.asRunDependency
    let other = dependency.dependencyRun
    if priority > TaskPriority.background.rawValue { other.core.raise(other, to: priority) }
    dependency.whenFinished(by: run.id) { outcome in
      run.dependencySettled(other.identity, outcome, isOutside: other.core !== self)
    }
  }
}

extension Run {
  /// Ends the run, if it has not started, with the outcome of a dependency. A dependency that was added later can settle during another
  /// step, which is therefore interrupted.
  private func endWithoutStart(_ outcome: RunOutcome.Failure) {
    core.send { state, effects in endWithoutStart(outcome, interrupts: true, &state, &effects) }
  }

  /// Adds a dependency to a run that has not started (D1). Returns `false` if the body has been called or if the run has ended.
  func addDependency(_ dependency: any ProcedureDependency) -> Bool {
    let priority = core.send { state, effects -> UInt8? in
      let member = state.runs[self].member
      guard !state.runs[self].hasStarted, state.machine.phase(of: member).awaitsStart else { return nil }
      state.runs[self].details.dependencies.handles.append(dependency)
      state.runs[self].details.dependencies.missingCount += 1
      if state.machine.dependencyAdded(member) { releaseHeldClaim(&effects) }
      return state.machine[member].priority
    }
    guard let priority else { return false }
    core.watch(dependency, for: self, priority)
    // The dependency may itself be waiting for this run.
    if mayBeAwaited { DeadlockSearch.resolveDeadlock(from: self) }
    return true
  }

  /// Fails the run because its dependencies form a cycle, in which no run could ever start (R4).
  func refuseDependencies(_ error: ProcedureError) {
    let dependencies = core.update { $0[self].details.dependencies.handles.takeAll() }
    for dependency in dependencies { dependency.asRunDependency.dependencyRun.forget(self) }
    endWithoutStart(.failed(error))
  }

  /// Records that a dependency of the run finished (D1).
  ///
  /// The run advances when its last dependency finishes. If the dependency did not succeed, the run ends.
  func dependencySettled(_ dependency: ProcedureIdentity, _ outcome: ProcedureOutcome<Void>, isOutside: Bool) {
    switch outcome {
    case .finished:
      let released = core.send { state, effects -> [any ProcedureDependency] in
        state.runs[self].details.dependencies.missingCount -= 1
        guard state.runs[self].details.dependencies.missingCount == 0 else { return [] }
        // The step is `stale` if the run has ended, or is still in the step during which the dependency was added.
        let step = state.machine.dependenciesSettled(state.runs[self].member, &effects.next)
        QueueCore.deliver(step, to: self, &state.runs, &effects)
        return state.runs[self].details.dependencies.handles.takeAll()
      }
      _ = released
    case .failed(let error):
      if isOutside { core.update { $0[self].details.dependencies.failsFromOutside = true } }
      endWithoutStart(.failed(ProcedureError.dependencyFailed(of: identity, dependency, error)))
    case .cancelled(let reason): cancel(reason)
    case .ignored(let condition): endWithoutStart(.ignored(by: condition))
    }
  }
}
