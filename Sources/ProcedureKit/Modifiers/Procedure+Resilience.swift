extension Procedure {
  /// Returns the procedure protected by a circuit breaker.
  ///
  /// While the breaker is open, the procedure fails immediately with ``ProcedureError/Kind/circuitOpen``, without executing the body.
  ///
  /// All callers of one service should share one breaker, which counts the successes and failures of the procedure. A timeout that was
  /// applied before this modifier counts as a failure when it expires. A cancelled or ignored procedure does not count.
  ///
  /// Nor does a call that was not made, because a modifier that was applied before this one prevented it. If nothing has been executed, the
  /// procedure then fails with one of the following errors:
  ///
  /// - ``ProcedureError/Kind/rateExceeded``: a rate limiter refused the call
  /// - ``ProcedureError/Kind/circuitOpen``: another breaker refused the call
  /// - ``ProcedureError/Kind/conditionFailed``: a condition failed
  /// - ``ProcedureError/Kind/exclusionDeadlock`` while waiting for a resource, ``ProcedureError/Kind/capacityExceeded``,
  ///   ``ProcedureError/Kind/resourceConflict``: the resources could not be claimed
  /// - ``ProcedureError/Kind/timedOut`` if ``ProcedureError/Details/hasStarted`` is `false`: the deadline had passed
  ///
  /// If the breaker counts several attempts as one call, the call counts unless all attempts were prevented. A failure that leads to a
  /// ``fallback(to:)`` also counts if the replacement is prevented. An error from a worker on another machine counts, and so does an error
  /// that concerns another run (``ProcedureError/procedure``), such as one that the body started on a queue or, in a procedure that is
  /// ``coalesced(by:in:)-(HashableSendable,_)``, the run that was executed for several.
  public func circuitBreaker(_ breaker: CircuitBreaker) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      switch breaker.callWanted() {
      case .refused(let instant):
        throw ProcedureError(.circuitOpen, procedure: ProcedureIdentity(id: context.id, name: task.name)) {
          ($0.breaker, $0.retryAfter) = (breaker.name, instant.map(breaker.time.remaining(until:)))
        }
      case .admitted(let permit):
        let failures = context.run.failedCallCount
        do {
          let output = try await task.executeAsLayer(input)
          breaker.callEnded(permit, context.isCancelled ? .abandoned : .succeeded)
          return output
        } catch {
          let isPrevented = error.meansNoCall(by: context.id) && context.run.failedCallCount == failures
          breaker.callEnded(permit, context.isCancelled || error.isNoFailure || isPrevented ? .abandoned : .failed)
          throw error
        }
      }
    }
  }

  /// Returns the procedure with a rate limiter, which all callers of one service should share.
  ///
  /// A waiting procedure holds no slot and no resources, and cancellation ends the wait immediately. If the wait would exceed the limiter's
  /// maximum wait, the procedure fails immediately with ``ProcedureError/Kind/rateExceeded``.
  public func rateLimited(_ limiter: RateLimiter) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      try await ProcedureContext.requireCurrent(for: task.name).run.pass(limiter)
      return try await task.executeAsLayer(input)
    }
  }

  /// Returns the procedure with a replacement, which executes with the same input if the procedure fails or is ignored.
  ///
  /// A cancelled procedure still throws.
  public func fallback<Other: Procedure>(
    to replacement: Other
  ) -> ProcedureTask<Input, Output> where Other.Input == Input, Other.Output == Output {
    let replacement = replacement.procedureTask
    return recovered { _, input in try await replacement.executeAsLayer(input) }
  }

  /// Returns the procedure with a second copy, which starts if the first copy has not ended after `delay`.
  ///
  /// If `delay` is zero or negative, both copies start immediately. Hedging reduces the latency of the slowest runs.
  ///
  /// The first success becomes the result, and the other copy is cancelled and awaited. If one copy fails, the result of the other copy is
  /// used. If both fail, the later error is thrown. If the first copy fails before the second copy starts, the error of the first copy is
  /// thrown, and the second copy does not start. Each copy waits in line for a separate slot. Both copies belong to the same run. If a
  /// modifier that was applied before this one claims a category exclusively, the copies exclude each other.
  ///
  /// `hedged(afterPercentile:initialDelay:minSamples:maxSamples:maxShare:)` in `ProcedureKitPacing` adapts the delay to the durations of
  /// recent runs, and limits the share of runs that start a second copy.
  public func hedged(after delay: Duration) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      try await Hedge(task, input, of: ProcedureContext.requireCurrent(for: task.name).run).execute(after: delay)
    }
  }
}

extension Run {
  /// Executes a task within the body, using the body's slot and resources. Cancelling this run calls `onCancel`, but does not cancel the
  /// task.
  package func executeShielded<Input: Sendable, Output: Sendable>(
    _ task: ProcedureTask<Input, Output>, _ input: Input, onCancel: @escaping @Sendable () -> Void
  ) async throws -> Output {
    try await withTaskAndRunCancellationHandler {
      try await RunDriver.runShielded(task, input, executor: core.executor)
    } onCancel: {
      onCancel()
    }
  }

  /// How many calls of the procedure have failed so far, before a retry, a replacement or a worker's answer. A circuit breaker around them
  /// can thereby tell a call that failed and was then prevented from one that was always prevented.
  fileprivate var failedCallCount: Int32 { core.read { $0.runs[reported].details.pause.failedCallCount } }

  /// Records that the procedure fails with an error that may lead to another call, unless the error means that no call was made.
  func recordFailedCall(_ error: any Error) {
    if error.isFailedCall(of: reported.id) { recordFailedCall() }
  }

  /// Records that a call of the procedure was made and failed.
  package func recordFailedCall() { core.update { $0[reported].details.pause.failedCallCount += 1 } }

  /// The current instant on the queue's clock.
  package var instant: ProcedureInstant { core.time.now }

  /// The run of the whole procedure, if this run is only a layer, an attempt or a copy; otherwise, this run. For a direct call, this is the
  /// run of the call itself, even though that run publishes no events.
  package var whole: Run {
    var run = self
    while run.kind == .layer || run.kind == .copy, let parent = run.parent { run = parent }
    return run
  }

  /// Waits until a rate limiter admits a call. The procedure holds neither a slot nor resources during the wait.
  fileprivate func pass(_ limiter: RateLimiter) async throws {
    switch limiter.arrive() {
    case .granted: return
    case .refused(let end):
      let delay = end.map(limiter.time.remaining(until:))
      throw ProcedureError(.rateExceeded, procedure: layerIdentity) { $0.retryAfter = delay }
    case .waiting(let ticket):
      var hasTurn = false
      do {
        try await withSlotAndResourcesReleased(for: .rateLimit, at: limiter) {
          hasTurn = await limiter.wait(for: ticket, core.timers, at: wait(at:))
        }
      } catch {
        if hasTurn { limiter.callAbandoned(ticket) }
        throw error
      }
    }
  }
}

extension Error {
  /// Whether the error reports a cancelled or ignored run instead of a failure.
  package var isNoFailure: Bool {
    (self as? ProcedureError)?.kind == .ignored || self is CancellationError
  }

  /// Whether the error reports that a call of the given run was made and failed: the run was neither cancelled nor ignored, and none of its
  /// modifiers prevented the call.
  package func isFailedCall(of id: ProcedureID) -> Bool { !isNoFailure && !meansNoCall(by: id) }

  /// Whether the error reports that a modifier of the given run prevented the execution of its body. A procedure that the body calls without
  /// a queue is part of the run.
  fileprivate func meansNoCall(by id: ProcedureID) -> Bool {
    guard let error = self as? ProcedureError, error.procedure.id == id else { return false }
    switch error.kind {
    case .rateExceeded, .circuitOpen, .conditionFailed, .capacityExceeded, .resourceConflict: return true
    case .exclusionDeadlock: return error.waits.first?.isForResource ?? false
    case .timedOut: return error.hasStarted == false
    default: return false
    }
  }
}

/// Two copies of a procedure: the second starts if the first takes too long, and the first success becomes the result.
///
/// Each copy is a run that takes its own slot. The first copy is admitted before the body that contains the hedge releases its slot.
///
/// The type is `package` because `ProcedureKitPacing` uses it.
package struct Hedge<Input: Sendable, Output: Sendable>: Sendable {
  private let task: ProcedureTask<Input, Output>
  private let input: Input
  private let run: Run

  package init(_ task: ProcedureTask<Input, Output>, _ input: Input, of run: Run) {
    self.task = task.resolved(for: input)
    self.input = input
    self.run = run
  }

  /// Executes the first copy and, after the delay, the second one. Returns when both copies have ended.
  ///
  /// - Parameters:
  ///   - delay: The time after which the second copy starts.
  ///   - mayStart: A function that returns whether the second copy is permitted to start. It is called when the delay has passed.
  ///   - didSucceed: A function that is called at the first success, before the other copy ends.
  /// - Returns: The value of the copy that succeeded first.
  /// - Throws: The error from the copy that ended last, if neither succeeded.
  package func execute(
    after delay: Duration, mayStart: @escaping @Sendable () -> Bool = { true },
    didSucceed: @escaping @Sendable () -> Void = {}
  ) async throws -> Output {
    let first = makeCopy()
    let start = OneShotSignal()
    let timer = run.core.timers.schedule(after: delay) { start.signal() }
    let result = await run.withSlotReleased {
      let result = await firstSuccess(first, secondStartsAt: start, if: mayStart, didSucceed)
      run.core.timers.cancel(timer)
      return result
    }
    return try result.get()
  }

  /// Returns the first success, or the last failure.
  private func firstSuccess(
    _ first: Copy, secondStartsAt start: OneShotSignal, if mayStart: @escaping @Sendable () -> Bool,
    _ didSucceed: @escaping @Sendable () -> Void
  ) async -> Result<Output, any Error> {
    await withTaskGroup(of: Result<Output, any Error>.self) { group in
      group.addTask {
        let result = await execute(first)
        start.cancel()
        return result
      }
      // If the signal was cancelled, the first copy has ended, or the run was cancelled.
      if await run.wait(at: start), mayStart() { group.addTask { await execute(makeCopy()) } }
      // The first copy always ends, so its result replaces this one.
      var result: Result<Output, any Error> = .failure(CancellationError())
      for await ended in group where !result.isSuccess {
        result = ended
        if ended.isSuccess {
          didSucceed()
          group.cancelAll()
          // Cancelling the tasks is not enough: if a cancelled body calls the procedure to clean up, the task of a copy is already
          // cancelled when the copy starts, so the copy ignores the cancellation of its task.
          run.cancelChildren(.copy)
        }
      }
      return result
    }
  }

  /// An admitted copy, and its first step.
  private typealias Copy = (run: Run, step: RunStep)

  private func makeCopy() -> Copy {
    let copy = Run(
      run.core, task.layer, .copy, parent: run, attempt: Int(run.attempt), needsSlot: !run.continuesWithoutSlot,
      closures: task.closures, body: task.body(with: input))
    return (copy, copy.admit())
  }

  private func execute(_ copy: Copy) async -> Result<Output, any Error> {
    await Result(awaiting: { () async throws in try await copy.run.driveToEnd(from: copy.step) })
  }
}

extension Result {
  /// Creates a result from the value that an async function returns, or from the error that it throws.
  init(awaiting function: () async throws(Failure) -> Success) async {
    do {
      self = .success(try await function())
    } catch {
      self = .failure(error)
    }
  }

  package var isSuccess: Bool {
    if case .success = self { true } else { false }
  }
}
