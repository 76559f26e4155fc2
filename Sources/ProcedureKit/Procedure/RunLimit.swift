import Synchronization

/// Internal. How long one run may take, and the timers that cancel it when its time is over.
///
/// A run is cancelled as a whole: whoever wants to go on after a timeout wraps it, and the procedure that times out is a
/// part of the run then. Many added runs with a timeout do without this: see ``DetachedRun/hasTimeout``.
final class RunLimit: Sendable {
  private struct State {
    var timeout: TimerHeap.ID?
    var deadline: TimerHeap.ID?
    /// How long there was until the deadline when the run came.
    var allowance: Duration?
    /// Whether the body of a run with a deadline has started.
    var hasStarted = false
    var isOver = false
  }

  private enum Kind {
    case timeout
    case deadline
  }

  private let limit: TimeLimit
  private let state = Mutex(State())

  init(_ limit: TimeLimit) {
    self.limit = limit
  }

  /// The run is about to be admitted.
  ///
  /// - Returns: Why it must not start, if its deadline has passed.
  func arrived(_ run: ProcedureScope) -> ProcedureError? {
    guard let remaining = limit.deadline?.remaining else { return nil }
    state.withLock { $0.allowance = max(remaining, .zero) }
    return remaining > .zero ? nil : timeout(.deadline, of: run, after: .zero)
  }

  /// The run was admitted: from now on it is cancelled at its deadline, if it has one.
  func admitted(_ run: ProcedureScope) {
    guard let allowance = state.withLock({ $0.allowance }), allowance > .zero else { return }
    arm(.deadline, after: allowance, run)
  }

  /// The body is about to start: from now on it is cancelled when it has taken too long, if it has a timeout.
  ///
  /// - Throws: ``ProcedureError/timedOut(procedure:duration:hasStarted:)`` where the deadline has come, and only the timer has not.
  func bodyStarts(_ run: ProcedureScope) throws {
    if let deadline = limit.deadline {
      guard deadline.remaining > .zero else {
        throw timeout(.deadline, of: run, after: state.withLock { $0.allowance } ?? .zero)
      }
      state.withLock { $0.hasStarted = true }
    }
    if let timeout = limit.timeout { arm(.timeout, after: timeout, run) }
  }

  private func timeout(_ kind: Kind, of run: ProcedureScope, after duration: Duration) -> ProcedureError {
    let hasStarted =
      switch kind {
      case .timeout: true
      case .deadline: state.withLock { $0.hasStarted }
      }
    return .timedOut(procedure: run.identity, duration: duration, hasStarted: hasStarted)
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

  private func arm(_ kind: Kind, after duration: Duration, _ run: ProcedureScope) {
    let id = run.timers.schedule(after: duration) { [self] in run.cancel(timeout(kind, of: run, after: duration)) }
    let isOver = state.withLock { state in
      if !state.isOver {
        switch kind {
        case .timeout: state.timeout = id
        case .deadline: state.deadline = id
        }
      }
      return state.isOver
    }
    if isOver { run.timers.cancel(id) }
  }
}
