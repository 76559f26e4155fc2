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
  /// including resources of modifiers that follow; the outermost level pauses without a task. A cancel ends a pause at
  /// once. The children of an attempt end before the next attempt. A body reads the number of the attempt from
  /// ``ProcedureContext/attempt``.
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
    let policy = RetryPolicy(schedule: schedule, maxAttempts: maxAttempts, budget: budget, decide: decide)
    return task.wrapped {
      $0.mayPause = true
    } _: { input in
      let run = ProcedureContext.ofBody(task.name).run
      let state = run.pacing() ?? RetryState(task, policy.schedule, in: run)
      return try await state.executeAttempt(input, policy, of: run)
    }
  }
}

/// The parameters of a retry, common to all runs of the procedure.
private struct RetryPolicy<Input: Sendable, Output: Sendable>: Sendable {
  let schedule: Schedule
  let maxAttempts: Int
  let budget: RetryBudget?
  let decide: @concurrent @Sendable (any Error, Int) async -> RetryDecision<Input, Output>
}

/// The state of a retry between two attempts.
private struct RetryState<Input: Sendable, Output: Sendable>: Sendable {
  private var task: ProcedureTask<Input, Output>
  private var delays: Schedule.Iterator
  private var generator: RunGenerator
  private var attempt = 1

  init(_ task: ProcedureTask<Input, Output>, _ schedule: Schedule, in run: Run) {
    self.task = task
    delays = schedule.makeIterator()
    generator = RunGenerator(numbers: run.core.makeGenerator())
  }

  /// Executes the next attempt. Throws `Pause` if another attempt follows, and the last error if none does.
  func executeAttempt(_ input: Input, _ policy: RetryPolicy<Input, Output>, of run: Run) async throws -> Output {
    let failure: any Error
    do {
      let output = try await task.executeAsLevel(input, attempt: attempt)
      policy.budget?.recordSuccess()
      return output
    } catch {
      failure = error
    }
    var next = self
    guard let delay = await next.delay(after: failure, policy, run) else { throw failure }
    next.attempt += 1
    run.retries(attempt: attempt, failure, delay, with: next) { policy.budget?.returnRetry() }
    throw Pause(duration: delay, error: failure)
  }

  private mutating func delay(after error: any Error, _ policy: RetryPolicy<Input, Output>, _ run: Run) async
    -> Duration?
  {
    guard ProcedureContext.current?.isCancelled != true, !error.isNoFailure, attempt < policy.maxAttempts,
      var delay = delays.next(using: &generator.numbers)
    else { return nil }
    switch await policy.decide(error, attempt) {
    case .retry: break
    case .retryAfter(let other): delay = max(other, .zero)
    case .stop: return nil
    case .replace(let other): task = other.procedureTask
    }
    guard ProcedureContext.current?.isCancelled != true, policy.budget?.takeRetry() ?? true else { return nil }
    return delay
  }
}

/// Random numbers of one run.
///
/// Invariant of `@unchecked Sendable`: the driver of the run uses them, one step after another.
struct RunGenerator: @unchecked Sendable {
  var numbers: any RandomNumberGenerator
}

extension Run {
  /// An attempt has failed, and another one follows after a delay. `abandon` is called if a cancel ends the pause.
  func retries(
    attempt: Int, _ error: any Error, _ delay: Duration, with state: any Sendable,
    abandon: @escaping @Sendable () -> Void
  ) {
    // Levels of a procedure report under its name.
    let isOutermost = isReported
    if isOutermost { bodyEnded(nil) }
    report(.retrying(attempt: attempt, delay: delay, error: error))
    core.withState { _ in
      madeDetails.pacing = state
      details?.abandonPause = abandon
      if isOutermost {
        details?.currentAttempt = attempt + 1
        details?.isRetrying = true
      }
    }
  }
}
