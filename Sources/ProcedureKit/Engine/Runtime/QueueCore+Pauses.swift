/// Internal. A run between two attempts.
extension QueueCore {
  func pauseStarted(_ run: Run, until end: ProcedureInstant?) {
    visit { state, actions, _ in
      guard run.member >= 0 else { return }
      state.machine.pauseStarted(run.member, &actions)
      run.madeProgress.pauseEnd = end
    }
  }

  func pauseEnded(_ run: Run) {
    visit { state, _, _ in
      guard run.member >= 0 else { return }
      state.machine.pauseEnded(run.member)
    }
  }

  /// An attempt has failed of one of the retries in the outermost level. The run counts its own attempts, of all of them.
  func attemptFailed(of run: Run, _ error: any Error, retriedAfter delay: Duration) {
    let now = time.now
    visit { state, _, _ in
      guard run.member >= 0 else { return }
      if let run = run.detachedRun { _ = log(of: run, state) }
      recordEndOfBody(of: run, at: now, &state)
      let progress = run.madeProgress
      progress.isUnderWay = false
      record(.retrying(attempt: progress.attempt, delay: delay, error: error), of: run, at: now, &state)
    }
  }

  func attemptStarted(of run: Run) {
    let now = time.now
    visit { state, _, _ in
      guard run.member >= 0 else { return }
      let progress = run.madeProgress
      progress.attempt += 1
      progress.isUnderWay = true
      record(.willExecute(attempt: progress.attempt), of: run, at: now, &state)
    }
  }

  /// Reports the end of the last attempt, unless that has been reported.
  func recordEndOfBody(of run: Run, at now: @autoclosure () -> ProcedureInstant, _ state: inout QueueState) {
    if let attempt = run.attemptUnderWay { record(.didExecute(attempt: attempt), of: run, at: now(), &state) }
  }
}

/// Internal. Where a run stands that pauses, or makes more than one attempt.
///
/// Invariant: guarded by the lock of the queue that the run belongs to.
final class AttemptProgress: @unchecked Sendable {
  /// The latest attempt.
  var attempt = 1
  /// Whether that has not ended.
  var isUnderWay = true
  /// When the run goes on, if it pauses and that is known.
  var pauseEnd: ProcedureInstant?
}

extension Run {
  /// Called under the lock.
  fileprivate var madeProgress: AttemptProgress {
    if let progress { return progress }
    let progress = AttemptProgress()
    madeExtras.progress = progress
    return progress
  }
}
