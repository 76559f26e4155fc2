import Synchronization

extension Procedure {
  /// Returns the procedure with retries: each failed attempt is followed by a pause and another attempt, until a limit is reached.
  ///
  /// ```swift
  /// Download().timeout(.seconds(5)).retry(.exponential(from: .milliseconds(100)).jittered(), maxAttempts: 4)
  /// ```
  ///
  /// The first delay of the schedule precedes the first retry. Each attempt repeats all modifiers that were applied before this one:
  /// conditions are evaluated again, resources are claimed again, and timeouts start again. During a pause, the run holds neither a slot
  /// nor any of the procedure's resources, including the resources of modifiers that are applied later. A pause of the outermost layer
  /// occupies no task. Cancellation ends a pause immediately. The children of an attempt end before the next attempt starts. A body can
  /// read the number of the attempt from ``ProcedureContext/attempt``.
  ///
  /// An endless schedule of zero delays, such as ``Schedule/immediate``, should be limited by `maxAttempts` or a `budget`. Otherwise, the
  /// first retry logs a warning, once for each procedure name.
  ///
  /// When no delays, attempts or budget are left, or when the decision is ``RetryDecision/stop``, the last error is thrown. A success
  /// discards all earlier errors. A cancelled or ignored attempt is not retried, but an attempt that timed out is.
  ///
  /// - Parameters:
  ///   - schedule: The delays before the retries. The end of the schedule also ends the retries.
  ///   - maxAttempts: The maximum number of attempts, including the first. Passing a value below 1 traps.
  ///   - budget: A limit on the retries by all callers of one service. If the budget is exhausted, the error is thrown, and no further
  ///     attempt is made.
  ///   - decide: A function that receives an error and the number of the failed attempt, and decides what happens next. It is not called if
  ///     no attempts are left.
  /// - Returns: A procedure that retries this one.
  public func retry(
    _ schedule: Schedule, maxAttempts: Int = .max, budget: RetryBudget? = nil,
    when decide:
      @escaping @concurrent @Sendable (_ error: any Error, _ attempt: Int) async -> RetryDecision<Input, Output> = {
        _, _ in .retry
      }
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    requirePositive(maxAttempts, "Procedure \"\(task.name)\": maxAttempts")
    return task.repeated { input in
      Retry(task, input, schedule, maxAttempts: maxAttempts, budget: budget, decide)
    }
  }
}

/// The attempts of one run.
private final class Retry<Input: Sendable, Output: Sendable>: Repetition {
  private struct State {
    /// The task for the next attempt. A decision can replace this task.
    var task: ProcedureTask<Input, Output>
    /// The delays, which are created for the first attempt.
    var delays: Schedule.Delays?
    var attempt = 1
  }

  typealias Decide = @concurrent @Sendable (_ error: any Error, _ attempt: Int) async -> RetryDecision<Input, Output>

  private let input: Input
  private let schedule: Schedule
  private let maxAttempts: Int
  private let budget: RetryBudget?
  private let decide: Decide
  private let state: Mutex<State>

  init(
    _ task: ProcedureTask<Input, Output>, _ input: Input, _ schedule: Schedule, maxAttempts: Int, budget: RetryBudget?,
    _ decide: @escaping Decide
  ) {
    (self.input, self.schedule, self.maxAttempts, self.budget) = (input, schedule, maxAttempts, budget)
    self.decide = decide
    state = Mutex(State(task: task))
  }

  func execute(in run: Run) async throws -> any Sendable {
    let (task, attempt) = state.withLock { state in
      if state.delays == nil { state.delays = schedule.delays(using: run.core.makeGenerator()) }
      return (state.task, state.attempt)
    }
    return try await task.executeAsLayer(input, attempt: attempt)
  }

  /// Decides whether another attempt follows (T2). If so, takes a retry from the budget.
  func pause(after result: Result<any Sendable, any Error>, in run: Run) async -> Pause? {
    guard case .failure(let error) = result else {
      budget?.recordSuccess()
      return nil
    }
    run.recordFailedCall(error)
    let attempt = state.withLock(\.attempt)
    guard !run.isCancelled, !error.isNoFailure, attempt < maxAttempts,
      var delay = state.withLock({ $0.delays?.next() })
    else { return nil }
    var replacement: ProcedureTask<Input, Output>?
    switch await decide(error, attempt) {
    case .retry: break
    case .retryAfter(let other): delay = max(other, .zero)
    case .stop: return nil
    case .replace(let other): replacement = other.procedureTask
    }
    guard !run.isCancelled, budget?.takeRetry() ?? true else { return nil }
    // Endless retries without a delay would keep a processor busy for as long as the error persists.
    if delay <= .zero, maxAttempts == .max, budget == nil, schedule.isEndlessWithoutDelay {
      run.warnOfEndlessRetries()
    }
    state.withLock { state in
      state.attempt += 1
      if let replacement { state.task = replacement }
    }
    run.willRetry(attempt: attempt, error, delay)
    return Pause(duration: delay, error: error)
  }

  func attemptAbandoned() { budget?.returnRetry() }
}

extension Run {
  /// Reports that an attempt failed and that another one will follow after a delay.
  fileprivate func willRetry(attempt: Int, _ error: any Error, _ delay: Duration) {
    // The layers of a procedure publish their events under the name of the procedure.
    if isReported { recordBodyEnd(nil) }
    report(.retrying(attempt: attempt, delay: delay, error: error))
    log.log(level: .info, "attempt \(attempt) failed, retrying after \(delay.inWords): \(error)")
    core.update { runs in
      runs[self].details.pause.currentAttempt = Int32(clamping: attempt + 1)
      runs[self].details.pause.isRetrying = true
    }
  }
}

/// A decision on how to proceed after a failed attempt; see ``Procedure/retry(_:maxAttempts:budget:when:)``.
@nonexhaustive
public enum RetryDecision<Input: Sendable, Output: Sendable>: Sendable {
  /// Make another attempt after the schedule's next delay.
  case retry
  /// Make another attempt after the given delay, such as one that a server requested, instead of the schedule's next delay.
  case retryAfter(Duration)
  /// Throw the error without another attempt.
  case stop
  /// Make another attempt after the schedule's next delay, using the given procedure for this attempt and all later ones.
  case replace(by: any Procedure<Input, Output>)
}
