extension QueueCore {
  var failures: [ProcedureFailure] { read { $0.failures } }

  /// Ends the scope that owns the queue and returns the collected failures. The scope does not collect later failures.
  func endScope() -> [ProcedureFailure] {
    send { state, _ in
      state.isScopeOver = true
      return state.failures
    }
  }

  /// Collects the failure of an added run for the scope of the queue and cancels all runs if the scope fails fast (D4).
  @inline(__always)
  func collectFailure(_ outcome: RunOutcome, of run: Run, _ state: inout State, _ effects: inout Effects) {
    guard case .failed(let error)? = outcome.failure, run.isAddedByUser,
      let scopePolicy, !state.isScopeOver
    else { return }
    run.setObserved()
    // The scope has already collected the failure of the dependency, unless the dependency is on another queue.
    if (error as? ProcedureError)?.kind == .dependencyFailed, !state.runs[run].details.dependencies.failsFromOutside {
      return
    }
    if scopePolicy == .failFast { effects.add(.call { [self] in cancelAll(nil, includesLater: true) }) }
    state.failures.append(ProcedureFailure(procedure: run.identity, error: error))
  }
}
