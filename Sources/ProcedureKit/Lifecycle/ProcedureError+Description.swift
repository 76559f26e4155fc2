extension ProcedureError: CustomStringConvertible {
  /// The procedure, the reason, and a remedy if there is one.
  public var description: String {
    switch self {
    case .conditionFailed(let procedure, let condition, let error):
      "\(procedure) was not executed: its condition \"\(condition)\" failed: \(error)"
    case .ignored(let procedure, let condition):
      "\(procedure) was not executed: the condition \"\(condition)\", its own or that of what it needs, was not satisfied"
    case .dependencyFailed(let procedure, let dependency, let origin, let error):
      "\(procedure) was not executed: it depends on \(dependency), which failed"
        + (origin.id == dependency.id ? "" : " because \(origin) did") + ": \(error). "
        + "To execute whatever happened there, depend on its result instead"
    case .queueShutDown(let procedure, let queue):
      "\(procedure) was not executed, or not to its end: the queue \"\(queue)\" has been shut down. Add procedures before "
        + "shutDown(), or give it a longer grace period"
    case .partsFailed(let procedure, let failures):
      "\(failures.count) of the parts of \(procedure) failed: "
        + failures.map { "\($0.procedure): \($0.error)" }.joined(separator: "; ")
    case .exclusionDeadlock(let procedure, let circle):
      "\(procedure) was not executed, because it would have waited for ever: "
        + circle.map(\.description).joined(separator: "; ")
        + (circle.count == 1
          ? ". The holder waits for \(procedure) in turn. A procedure can use the resources of a body if the body "
            + "runs or produces it, not if the body adds it to a queue"
          : ". Let all of them claim what they need at once, or in the same order")
    case .producerFinished(let procedure, let producer):
      "\(procedure) was not executed: \(producer), which was to produce it, had ended before. Produce it inside the body, "
        + "or add it to a queue"
    case .queueFull(let procedure, let queue, let limit):
      "\(procedure) was not admitted: the queue \"\(queue)\" is full, since no more than \(limit) may wait on it. "
        + "To wait for room, use enqueue"
    case .timedOut(let procedure, let duration, true): "\(procedure) timed out after \(duration.inWords)"
    case .timedOut(let procedure, let duration, false):
      "\(procedure) was not executed: its deadline passed before it started"
        + (duration > .zero ? ", \(duration.inWords) after it had come" : ", and even before it came")
        + ". Give it a later deadline, or a timeout, which begins only when the body does"
    case .circuitOpen(let procedure, let breaker, let delay):
      "\(procedure) was not executed: its circuit breaker \"\(breaker)\" is open, since too many calls have failed"
        + (delay.map { "; it lets one through after \($0.inWords)" } ?? ", and a call is under way that may close it")
    case .rateExceeded(let procedure, let delay):
      "\(procedure) was not executed: its rate limiter would have let it through "
        + (delay.map { "only after \($0.inWords)" } ?? "never")
    case .bodySkipped(let procedure, let queue):
      "\(procedure) was not executed: the interceptor of the queue \"\(queue)\" returned without calling next(). "
        + "Let the interceptor call next(), or throw"
    case .replaced(let procedure, let other):
      "\(procedure) was not executed: its place on the full queue went to \(other)"
    case .capabilityUnavailable(let procedure, let error), .capabilityUnauthorized(let procedure, let error):
      "\(procedure) failed: \(error)"
    }
  }
}
