/// The time limits of a run, which are its timeout and its deadline (C5).
extension Run {
  /// Starts the timer of the timeout (C5), if there is one.
  func startTimeout() {
    guard layer.hasTimeout, let timeout = layer.traits.timeout else { return }
    let identity = layerIdentity
    schedule(after: timeout) { [self] in
      cancel(ProcedureError.timedOut(procedure: identity, duration: timeout, hasStarted: true), asFailure: true)
    }
  }

  /// Returns a timeout error if the deadline has passed; otherwise, stores the remaining time and returns `nil`.
  ///
  /// A late run records `didAttach`, which shows that it was late rather than refused by a queue.
  func lateness(_ deadline: Deadline) -> ProcedureError? {
    let remaining = deadline.remaining
    guard remaining > .zero else {
      let instant = core.time.now
      core.send { state, effects in
        state.runs[self].attach(at: instant)
        // The graph has already published `didAttach` for its nodes.
        if kind == .node { return }
        record(at: instant, &state, &effects) { _ in
          .init(step: .didAttach, collection: layer.traits.collection)
        }
      }
      return .timedOut(procedure: layerIdentity, duration: .zero, hasStarted: false)
    }
    core.update { $0[self].details.timeToDeadline = remaining }
    return nil
  }

  /// Starts the timer of the deadline. The run must already be admitted, because a timer that fires earlier would find no run to cancel.
  func startDeadline() {
    guard let deadline = layer.traits.deadline else { return }
    schedule(after: deadline.remaining) { [self] in deadlinePassed() }
  }

  /// Cancels the run with a timeout error, because its deadline has passed (C5).
  func deadlinePassed() {
    let (duration, hasStarted) = core.read { state in
      (state.runs[self].details.timeToDeadline ?? .zero, self.hasStarted(state))
    }
    cancel(
      ProcedureError.timedOut(procedure: layerIdentity, duration: duration, hasStarted: hasStarted), asFailure: true)
  }

  /// Schedules a timer that is cancelled when the outcome of the run is decided.
  ///
  /// The layer's `hasTimersOrClaims` must be `true`, because the timers of other layers would not be cancelled.
  func schedule(after duration: Duration, _ action: @escaping @Sendable () -> Void) {
    precondition(layer.hasTimersOrClaims, "\(#function): \(layerIdentity) has a timer, but its layer declares none")
    let timer = core.timers.schedule(after: duration, action)
    let isDecided = core.update { runs in
      if !runs[self].isDecided { runs[self].details.timers.append(timer) }
      return runs[self].isDecided
    }
    if isDecided { core.timers.cancel(timer) }
  }
}
