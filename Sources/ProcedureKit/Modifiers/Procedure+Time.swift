extension Procedure {
  /// The same procedure, which is cancelled when it takes longer than this, with
  /// ``ProcedureError/timedOut(procedure:duration:hasStarted:)`` as the reason.
  ///
  /// The time begins when the body starts: what the procedure waits for before that, for its conditions, its resources and a
  /// slot, does not count; for that there is ``deadline(_:)``. It is for all of the body, what that produces included, and for
  /// all attempts together where the body is a retry. As with every cancel, the body is waited for.
  ///
  /// What wraps a procedure that has timed out sees the error like any other: `recover` and `retry`, for instance. Of several
  /// timeouts the earliest counts.
  ///
  /// - Parameter duration: How long; no limit, if it is not positive.
  /// - Returns: The procedure with that limit.
  public func timeout(_ duration: Duration) -> ProcedureTask<Input, Output> {
    procedureTask.changing { traits in
      guard duration > .zero else { return }
      traits.timeout = traits.timeout.map { min($0, duration) } ?? duration
    }
  }

  /// The same procedure, which is cancelled when this instant comes before it has ended, with
  /// ``ProcedureError/timedOut(procedure:duration:hasStarted:)`` as the reason.
  ///
  /// In contrast to ``timeout(_:)``, what it waits for before its body starts counts: if the instant comes meanwhile, or has
  /// passed already, the body never starts. Of several deadlines the earliest counts.
  ///
  /// - Parameters:
  ///   - instant: By when it has to be over.
  ///   - clock: Whose instant it is. The time that is left is measured on the clock of the queue.
  /// - Returns: The procedure with that limit.
  public func deadline<C: Clock>(
    _ instant: C.Instant, on clock: C
  ) -> ProcedureTask<Input, Output> where C.Duration == Duration {
    procedureTask.changing { traits in
      let deadline = Deadline(instant, on: clock)
      traits.deadline = traits.deadline.map { deadline.earlier($0) } ?? deadline
    }
  }

  /// The same procedure, which is cancelled when this instant comes before it has ended; see ``deadline(_:on:)``.
  ///
  /// - Parameter instant: By when it has to be over.
  /// - Returns: The procedure with that limit.
  public func deadline(_ instant: ContinuousClock.Instant) -> ProcedureTask<Input, Output> {
    deadline(instant, on: ContinuousClock())
  }

  /// The same procedure, after a pause. The pause holds no slot and no resource, and takes no task; a cancel ends it at once.
  ///
  /// - Parameter duration: How long; not at all, if it is not positive.
  /// - Returns: The procedure with that delay.
  public func delay(_ duration: Duration) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    return task.wrapped {
      $0.delay = duration
    } _: { input in
      try await task.executeAsLevel(input)
    }
  }
}

extension ProcedureTask where Input == Void, Output == Void {
  /// A procedure that does nothing but wait: without a slot, without a task, and no longer than until it is cancelled.
  ///
  /// - Parameter duration: How long; not at all, if it is not positive.
  /// - Returns: The procedure.
  public static func delay(_ duration: Duration) -> ProcedureTask<Void, Void> {
    ProcedureTask("delay") {}.delay(duration)
  }
}
