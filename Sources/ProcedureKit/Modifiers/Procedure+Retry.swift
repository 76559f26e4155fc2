extension Procedure {
  /// The same procedure, which is executed again when it fails, after a pause, as long as there are delays and attempts left.
  ///
  /// ```swift
  /// Download().timeout(.seconds(5)).retry(.exponential(from: .milliseconds(100)).jittered(), maxAttempts: 4)
  /// ```
  ///
  /// The first retry waits the first delay. All that is written before is executed anew in each attempt: its conditions are
  /// evaluated, its resources claimed, its timeouts begin again. A pause holds no slot and no resource of this procedure,
  /// those written after the retry included; it takes no task, and a cancel ends it at once. What an attempt has produced
  /// ends before the next one. A body can tell by ``ProcedureContext/attempt``.
  ///
  /// When there are no delays or attempts left, the last error is thrown. A success forgets all earlier ones. An attempt that
  /// was cancelled or ignored is not made again; one that timed out is.
  ///
  /// - Parameters:
  ///   - schedule: How long to wait before each retry, and how many there may be.
  ///   - maxAttempts: How many attempts there may be, the first one included; at least 1, or this traps.
  ///   - budget: What all callers of something may retry together; where it is spent, the error is thrown.
  ///   - decide: Asked about each error, with the number of the attempt, if there may be another one.
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

/// What is said of all runs of a procedure that is retried.
private struct RetryPolicy<Input: Sendable, Output: Sendable>: Sendable {
  let schedule: Schedule
  let maxAttempts: Int
  let budget: RetryBudget?
  let decide: @concurrent @Sendable (any Error, Int) async -> RetryDecision<Input, Output>
}

/// One run of a procedure that is retried.
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

  /// How long to wait before the next attempt; `nil` if there is none.
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

  /// A retry that is not made, since the run is cancelled meanwhile, is not paid for.
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
  /// The attempts of the outermost level are those of the run; of others only the retry is told.
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
