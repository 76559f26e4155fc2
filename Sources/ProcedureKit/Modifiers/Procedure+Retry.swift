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
    return task.wrapped {
      $0.mayPause = true
    } _: { input in
      let run = ProcedureContext.ofBody(task.name).run
      let state = run.pacing() ?? RetryState(task, policy.schedule, in: run)
      return try await state.executeAttempt(input, policy, of: run)
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

/// Where a retry stands between two attempts.
private struct RetryState<Input: Sendable, Output: Sendable>: Sendable {
  private var task: ProcedureTask<Input, Output>
  private var delays: Schedule.Iterator
  private var generator: RunGenerator
  private var attempt = 1

  init(_ task: ProcedureTask<Input, Output>, _ schedule: Schedule, in run: Run) {
    self.task = task
    delays = schedule.makeIterator()
    generator = RunGenerator(run.core.randomNumbers)
  }

  /// Executes the next attempt. Throws `Pause` if another attempt follows, and the last error if none does.
  func executeAttempt(_ input: Input, _ policy: RetryPolicy<Input, Output>, of run: Run) async throws -> Output {
    let failure: any Error
    do {
      let output = try await task.executeAsLevel(input, attempt: attempt)
      policy.budget?.attemptSucceeded()
      return output
    } catch {
      failure = error
    }
    var next = self
    guard let delay = await next.delay(after: failure, policy, run) else { throw failure }
    next.attempt += 1
    run.retries(attempt: attempt, failure, delay, with: next) { policy.budget?.retryAbandoned() }
    throw Pause(duration: delay)
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

  init(_ numbers: RandomNumbers) {
    self.numbers = numbers.makeGenerator()
  }
}
