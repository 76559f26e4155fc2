import Synchronization

/// Internal. How long one run may take, and the timers that cancel it when its time is over.
///
/// A run is cancelled as a whole: whoever wants to go on after a timeout wraps it, and the procedure that times out is a
/// part of the run then.
final class RunLimit: Sendable {
  private struct State {
    var timeout: TimerHeap.ID?
    var deadline: TimerHeap.ID?
    var isOver = false
  }

  private let limit: TimeLimit
  private let state = Mutex(State())

  init(_ limit: TimeLimit) {
    self.limit = limit
  }

  /// The run was admitted: from now on it is cancelled at its deadline, if it has one.
  func admitted(_ run: ProcedureScope) {
    if let remaining = limit.deadline?.remaining { arm(\.deadline, after: remaining, run) }
  }

  /// The body has started: from now on it is cancelled when it has taken too long, if it has a timeout.
  func bodyStarted(_ run: ProcedureScope) {
    if let timeout = limit.timeout { arm(\.timeout, after: timeout, run) }
  }

  /// Nothing is to cancel the run any more; what comes to do so nevertheless comes too late, or just in time.
  func ended(_ run: ProcedureScope) {
    let (timeout, deadline) = state.withLock { state in
      state.isOver = true
      return (state.timeout.take(), state.deadline.take())
    }
    if let timeout { run.timers.cancel(timeout) }
    if let deadline { run.timers.cancel(deadline) }
  }

  private func arm(_ timer: WritableKeyPath<State, TimerHeap.ID?>, after duration: Duration, _ run: ProcedureScope) {
    let id = run.timers.schedule(after: duration) {
      run.cancel(ProcedureError.timedOut(procedure: run.identity, duration: max(duration, .zero)))
    }
    let isOver = state.withLock { state in
      if !state.isOver { state[keyPath: timer] = id }
      return state.isOver
    }
    if isOver { run.timers.cancel(id) }
  }
}
