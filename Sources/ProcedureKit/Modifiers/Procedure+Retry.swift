extension Procedure {
  /// Returns the procedure with retries: a failed attempt is followed by a pause and another attempt, while delays and
  /// attempts are left.
  ///
  /// ```swift
  /// Download().timeout(.seconds(5)).retry(.exponential(from: .milliseconds(100)).jittered(), maxAttempts: 4)
  /// ```
  ///
  /// The first retry waits the first delay. Each attempt repeats all modifiers written before: conditions are
  /// evaluated, resources claimed and timeouts started again. A pause holds no slot and no resource of the procedure,
  /// including resources of modifiers that follow; the outermost layer pauses without a task. A cancel ends a pause at
  /// once. The children of an attempt end before the next attempt. A body reads the number of the attempt from
  /// ``ProcedureContext/attempt``.
  ///
  /// A schedule without delays, such as ``Schedule/immediate``, needs a limit: without `maxAttempts` and `budget`, the first retry logs a warning, once
  /// for each name of a procedure.
  ///
  /// Without delays or attempts left, the last error is thrown. A success discards all earlier errors. A cancelled or
  /// ignored attempt is not retried; an attempt that timed out is.
  ///
  /// - Parameters:
  ///   - schedule: The delays before the retries, and their number.
  ///   - maxAttempts: The largest number of attempts, including the first. A value below 1 traps.
  ///   - budget: The limit for the retries of all callers of one service. With an empty budget, the error is thrown.
  ///   - decide: Decides on each error, given the number of the failed attempt. `decide` is not called if no attempt is
  ///     left.
  /// - Returns: The procedure with its retries.
  public func retry(
    _ schedule: Schedule, maxAttempts: Int = .max, budget: RetryBudget? = nil,
    when decide:
      @escaping @concurrent @Sendable (_ error: any Error, _ attempt: Int) async -> RetryDecision<Input, Output> = {
        _, _ in .retry
      }
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(
      maxAttempts >= 1, "Procedure \"\(task.name)\": maxAttempts is \(maxAttempts); with less than 1 nothing could run")
    return task.wrapped {
      $0.mayPause = true
    } _: { input in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let run = context.run
      var state =
        run.pacing() ?? RetryState(task: task, delays: schedule.delays(using: run.core.makeGenerator()))
      let attempt = state.attempt
      let failure: any Error
      do {
        let output = try await state.task.executeAsLayer(input, attempt: attempt)
        budget?.recordSuccess()
        return output
      } catch {
        failure = error
      }
      guard !context.isCancelled, !failure.isNoFailure, attempt < maxAttempts, var delay = state.delays.next() else {
        throw failure
      }
      switch await decide(failure, attempt) {
      case .retry: break
      case .retryAfter(let other): delay = max(other, .zero)
      case .stop: throw failure
      case .replace(let other): state.task = other.procedureTask
      }
      guard !context.isCancelled, budget?.takeRetry() ?? true else { throw failure }
      // A mistake that keeps a processor busy for as long as the error lasts.
      if delay <= .zero, maxAttempts == .max, budget == nil, schedule.isEndlessWithoutDelay {
        run.warnOfEndlessRetries()
      }
      state.attempt += 1
      run.retries(attempt: attempt, failure, delay, with: state) { budget?.returnRetry() }
      throw Pause(duration: delay, error: failure)
    }
  }
}

/// The state of a retry between two attempts.
///
/// Invariant of `@unchecked Sendable`: the driver of the run uses the state, one step after another.
private struct RetryState<Input: Sendable, Output: Sendable>: @unchecked Sendable {
  var task: ProcedureTask<Input, Output>
  var delays: Schedule.Delays
  var attempt = 1
}

extension Run {
  /// An attempt has failed, and another one follows after a delay. `abandon` is called if a cancel ends the pause.
  fileprivate func retries(
    attempt: Int, _ error: any Error, _ delay: Duration, with state: any Sendable,
    abandon: @escaping @Sendable () -> Void
  ) {
    // Layers of a procedure report under its name.
    if isReported { bodyEnded(nil) }
    report(.retrying(attempt: attempt, delay: delay, error: error))
    log.info("attempt \(attempt) has failed, the next one follows after \(delay.inWords): \(error)")
    core.update { runs in
      runs[self].details.pause.state = state
      runs[self].details.pause.abandon = abandon
      runs[self].details.pause.currentAttempt = attempt + 1
      runs[self].details.pause.isRetrying = true
    }
  }
}

/// The decision after a failed attempt; see ``Procedure/retry(_:maxAttempts:budget:when:)``.
public enum RetryDecision<Input: Sendable, Output: Sendable>: Sendable {
  /// Make another attempt after the schedule's next delay.
  case retry
  /// Make another attempt after the given delay instead of the schedule's, for example a delay that a server asked for.
  case retryAfter(Duration)
  /// Throw the error without another attempt.
  case stop
  /// Make another attempt after the schedule's next delay, and use the given procedure from then on.
  case replace(by: any Procedure<Input, Output>)
}
