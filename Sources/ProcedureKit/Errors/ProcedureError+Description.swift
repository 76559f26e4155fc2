extension ProcedureError: CustomStringConvertible, CustomDebugStringConvertible {
  /// A statement of which procedure failed or was not executed, and why. It does not include the ``advice``.
  public var description: String {
    let statement = statement(naming: \.description) { "\($0)" }
    return statement.event + (statement.reason.map { ": \($0)" } ?? "")
  }

  /// The ``description``, followed by the ``advice``, for debuggers and failed tests.
  public var debugDescription: String {
    description + (advice.map { ". \($0)." } ?? "")
  }

  /// A suggestion for how to fix the problem; `nil` if there is nothing to change in the code.
  public var advice: String? {
    switch kind {
    case .dependencyFailed:
      "To execute the procedure regardless of the dependency's outcome, depend on the dependency's catchingErrors()"
    case .queueShutDown: "Add procedures before calling shutDown(grace:), or pass a longer grace period"
    case .exclusionDeadlock where !self.waits.contains(where: \.isForResource):
      "A procedure must not await itself, or a procedure that is waiting for it"
    case .exclusionDeadlock where self.waits.count(where: \.isForResource) == 1:
      "A procedure can use the resources of a body that runs or produces it, but not those of a body that adds it to a queue"
    case .exclusionDeadlock: "Let all of the procedures claim their resources together, or in the same order"
    case .resourceConflict: "Declare the resource once, and change its capacity with setCapacity(_:of:) on its table"
    case .producerFinished: "Produce the procedure before the body of the parent returns, or add it to a queue"
    case .queueFull: "To wait for room on the queue, use enqueue"
    case .timedOut where self.hasStarted == false:
      "Give the procedure a later deadline, or use a timeout, which starts only when the body does"
    case .bodySkipped: "Make sure that the interceptor calls next() or throws an error"
    case .promiseReleased: "Keep the promise until the callback that finishes it has been called"
    default: nil
    }
  }

  /// Returns a statement of what happened to the procedure, and the reason, if one is known.
  ///
  /// - Parameters:
  ///   - name: A function that returns the words for a run.
  ///   - words: A function that returns the words for an error.
  /// - Returns: What happened and why it happened.
  package func statement(
    naming name: (ProcedureIdentity) -> String, _ words: (any Error) -> String
  ) -> (event: String, reason: String?) {
    let subject = name(procedure)
    let queue = "the queue \((self.queue ?? "").quoted)"
    let cause = self.underlying.map(words)
    switch kind {
    case .timedOut where self.hasStarted == true:
      return ("\(subject) timed out after \((self.duration ?? .zero).inWords)", nil)
    case .childrenFailed:
      let failures = self.failures.map { "\(name($0.procedure)): \(words($0.error))" }
      return (
        "\(failures.count.counting("child", "children")) of \(subject) failed",
        failures.joined(separator: "; ")
      )
    case .queueFull:
      let (reason, each) = self.key.map { (" for the key \("\($0)".quoted)", " with the same key") } ?? ("", "")
      return (
        "\(subject) was not admitted",
        "\(queue) is full\(reason) because at most \((self.limit ?? 0).counting("procedure"))\(each) may wait on it"
      )
    case .stopped:
      let culprit = self.origin?.id == procedure.id ? "it" : self.origin.map(name) ?? "a child"
      return ("\(subject) was stopped", "\(culprit) failed: \(cause ?? "")")
    case .queueShutDown:
      return ("\(subject) was refused or cancelled", reason(naming: name, cause))
    case .exclusionDeadlock where !(self.waits.first?.isForResource ?? true):
      return ("\(subject) failed", reason(naming: name, cause))
    case .capabilityUnavailable, .capabilityUnauthorized: return ("\(subject) failed", cause)
    case .promiseReleased: return ("\(subject) failed", "its promise was released before it was finished")
    default: return ("\(subject) was not executed", reason(naming: name, cause))
    }
  }

  /// Returns the reason why the procedure was not executed.
  private func reason(naming name: (ProcedureIdentity) -> String, _ cause: String?) -> String? {
    func named(_ procedure: ProcedureIdentity?) -> String { procedure.map(name) ?? "another procedure" }
    let queue = "the queue \((self.queue ?? "").quoted)"
    switch kind {
    case .conditionFailed: return "its condition \((self.condition ?? "").quoted) failed: \(cause ?? "")"
    case .ignored:
      let condition = (self.condition ?? "").quoted
      return "the condition \(condition), which belongs to the procedure or to a dependency, was not satisfied"
    case .dependencyFailed:
      let chain = self.origin?.id == self.dependency?.id ? "" : " because \(named(self.origin)) did"
      return "it depends on \(named(self.dependency)), which failed\(chain): \(cause ?? "")"
    case .queueShutDown: return "\(queue) was shut down"
    case .exclusionDeadlock:
      let waits = self.waits.map { $0.description(naming: name) }
      let isOpen = self.waits.count == 1 && self.waits[0].isForResource
      return "it would have waited forever: " + waits.joined(separator: "; ")
        + (isOpen ? ", and the holder is in turn waiting for \(name(procedure))" : "")
    case .resourceConflict:
      return
        "it declares the resource \((self.resource ?? "").quoted) with a capacity of \(self.capacity ?? 0), but "
        + "\(named(self.other)) declares it with a capacity of \(self.otherCapacity ?? 0)"
    case .capacityExceeded:
      return
        "it needs \((self.units ?? 0).counting("unit")) of the resource \((self.resource ?? "").quoted), "
        + "which has only \(self.capacity ?? 0)"
    case .producerFinished: return "its parent \(named(self.producer)) had already finished"
    case .timedOut:
      let time = self.duration ?? .zero
      return time > .zero
        ? "it had not started by its deadline, \(time.inWords) after it was added"
        : "its deadline had passed before it was added"
    case .circuitOpen:
      return "its circuit breaker \((self.breaker ?? "").quoted) is open because too many calls have failed"
        + (self.retryAfter.map { "; the next call is allowed in \($0.inWords)" }
          ?? "; a call that may close it is in progress")
    case .rateExceeded:
      return "its rate limiter "
        + (self.retryAfter.map { "would admit it only after \($0.inWords)" } ?? "admits no further calls")
    case .bodySkipped: return "the interceptor of \(queue) returned without calling next()"
    case .replaced: return "\(named(self.replacement)) replaced it on the full queue"
    default: return cause
    }
  }
}
