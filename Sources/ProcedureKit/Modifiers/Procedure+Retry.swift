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
  /// including resources of modifiers that follow. A cancel ends a pause at once. The children of an attempt end before the next attempt. A body reads the number of the attempt from
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
    return ProcedureTask(name: task.name, priority: task.priority) { input in
      var retrying = Retrying(task, policy, in: .ofBody(task.name))
      return try await retrying.execute(input)
    }
  }
}

/// The settings of a retried procedure.
private struct RetryPolicy<Input: Sendable, Output: Sendable>: Sendable {
  let schedule: Schedule
  let maxAttempts: Int
  let budget: RetryBudget?
  let decide: @concurrent @Sendable (any Error, Int) async -> RetryDecision<Input, Output>
}

/// One run of a retried procedure.
private struct Retrying<Input: Sendable, Output: Sendable> {
  private let policy: RetryPolicy<Input, Output>
  private let context: ProcedureContext
  private var task: ProcedureTask<Input, Output>
  private var delays: Schedule.Iterator
  private var generator: (any RandomNumberGenerator)?
  private var attempt = 1
  private var fairness: Fairness

  init(_ task: ProcedureTask<Input, Output>, _ policy: RetryPolicy<Input, Output>, in context: ProcedureContext) {
    self.policy = policy
    self.context = context
    self.task = task
    delays = policy.schedule.makeIterator()
    fairness = context.scope.timers.fairness
  }

  mutating func execute(_ input: Input) async throws -> Output {
    while true {
      let failure: any Error
      do {
        let task = task
        let output = try await context.executePart(attempt: attempt) { try await task.executeAsBody(input) }
        policy.budget?.attemptSucceeded()
        return output
      } catch {
        failure = error
      }
      guard let delay = await delay(after: failure) else { throw failure }
      context.attemptFailed(attempt, failure, retriedAfter: delay)
      try await pause(for: delay)
      if fairness.pieceEnds() { await Task.yield() }
      attempt += 1
      context.attemptStarted()
    }
  }

  /// Returns the delay before the next attempt; `nil` to throw the error.
  private mutating func delay(after error: any Error) async -> Duration? {
    guard !context.isCancelled, !error.isNoFailure, attempt < policy.maxAttempts, var delay = nextDelay() else {
      return nil
    }
    switch await policy.decide(error, attempt) {
    case .retry: break
    case .retryAfter(let other): delay = max(other, .zero)
    case .stop: return nil
    case .replace(let other): task = other.procedureTask
    }
    guard !context.isCancelled, policy.budget?.takeRetry() ?? true else { return nil }
    return delay
  }

  /// Pauses. A cancel during the pause returns the retry to the budget.
  private func pause(for delay: Duration) async throws {
    do {
      try await context.pause(for: delay)
    } catch {
      policy.budget?.retryAbandoned()
      throw error
    }
  }

  private mutating func nextDelay() -> Duration? {
    var generator = generator ?? context.scope.randomNumbers.makeGenerator()
    defer { self.generator = generator }
    return delays.next(using: &generator)
  }
}

extension ProcedureContext {
  /// Reports a retry. Only the attempts of the outermost level are the attempts of the run.
  fileprivate func attemptFailed(_ attempt: Int, _ error: any Error, retriedAfter delay: Duration) {
    if isOutermost {
      scope.attemptFailed(attempt, error, retriedAfter: delay)
    } else {
      scope.report(.retrying(attempt: attempt, delay: delay, error: error))
    }
  }

  fileprivate func attemptStarted() {
    if isOutermost { scope.attemptStarted() }
  }
}
