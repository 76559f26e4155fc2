import Synchronization

extension Procedure {
  /// The same procedure, which is not executed while a circuit breaker is open: then it fails at once with
  /// ``ProcedureError/circuitOpen(procedure:breaker:retryAfter:)``.
  ///
  /// What the procedure comes to is counted by the breaker: a failure, a timeout written before included; a success; and
  /// neither, if it is cancelled or ignored.
  ///
  /// - Parameter breaker: Shared by all that call the same.
  /// - Returns: The procedure behind that breaker.
  public func circuitBreaker(_ breaker: CircuitBreaker) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.ofBody(task.name)
      switch breaker.callWanted() {
      case .refused(let instant):
        throw ProcedureError.circuitOpen(
          procedure: ProcedureIdentity(id: context.id, name: task.name), breaker: breaker.name,
          retryAfter: instant.map(breaker.remaining(until:)))
      case .admitted(let permit):
        do {
          let output = try await task.executeAsLevel(input)
          breaker.callEnded(permit, context.isCancelled ? .abandoned : .succeeded)
          return output
        } catch {
          breaker.callEnded(permit, context.isCancelled || error.isNoFailure ? .abandoned : .failed)
          throw error
        }
      }
    }
  }

  /// The same procedure, which is executed as often as a rate limiter lets it.
  ///
  /// While it waits it holds no slot and no resource, and takes no task; a cancel ends the wait at once. Where the limiter
  /// lets nobody wait, or not for so long, it fails with ``ProcedureError/rateExceeded(procedure:retryAfter:)``.
  ///
  /// - Parameter limiter: Shared by all that call the same.
  /// - Returns: The procedure behind that limiter.
  public func rateLimited(_ limiter: RateLimiter) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      try await ProcedureContext.ofBody(task.name).run.pass(limiter, name: task.name)
      return try await task.executeAsLevel(input)
    }
  }

  /// The same procedure, but where it fails or is ignored, another one is executed in its place. A cancel is passed on.
  ///
  /// - Parameter replacement: Given the same.
  /// - Returns: The procedure with that replacement.
  public func fallback<Other: Procedure>(
    to replacement: Other
  ) -> ProcedureTask<Input, Output> where Other.Input == Input, Other.Output == Output {
    let (task, replacement) = (procedureTask, replacement.procedureTask)
    return task.wrapped { (input: Input) in
      do {
        return try await task.executeAsLevel(input)
      } catch {
        if ProcedureContext.ofBody(task.name).isCancelled { throw error }
        return try await replacement.executeAsLevel(input)
      }
    }
  }

  /// The same procedure, of which a second copy is started when the first has not ended after a while: for reads whose
  /// slowest cases are to be faster.
  ///
  /// The first success counts; the other copy is cancelled and waited for. If one fails, the other is waited for, and if both
  /// fail, the error of the one that ended last is thrown. One that fails before there is a second is not repeated. Both are
  /// parts of one run: they share its slot, and a category that is written before excludes them from each other.
  ///
  /// - Parameter delay: How long to wait before the second copy; it is started at once, if that is not positive.
  /// - Returns: The procedure with that hedge.
  public func hedged(after delay: Duration) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped { (input: Input) in
      try await Hedge(task, input, of: ProcedureContext.ofBody(task.name).run).execute(after: delay)
    }
  }
}

extension Run {
  fileprivate func pass(_ limiter: RateLimiter, name: String) async throws {
    switch limiter.arrive() {
    case .granted: return
    case .refused(let delay):
      throw ProcedureError.rateExceeded(procedure: levelIdentity, retryAfter: delay)
    case .waits(let wait):
      let hasTurn = Atomic(false)
      try await pausing {
        hasTurn.store(await limiter.wait(for: wait, core.timers, at: wait(at:)), ordering: .relaxed)
      } onAbandon: {
        if hasTurn.load(ordering: .relaxed) { limiter.callAbandoned(wait) }
      }
    }
  }
}

extension Error {
  /// Whether it says that nothing was executed to the end, rather than that it has failed.
  var isNoFailure: Bool {
    if case .ignored? = self as? ProcedureError { return true }
    return self is CancellationError
  }
}
