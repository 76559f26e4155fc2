extension Procedure {
  /// Returns the procedure with a time limit.
  ///
  /// A procedure that takes longer is cancelled and fails with ``ProcedureError/Kind/timedOut``. If `duration` is zero or less, there is no
  /// limit.
  ///
  /// The clock starts when the body does, so the waits of the same layer for conditions, resources and a slot do not count. To include
  /// these waits, use ``deadline(_:)``. The limit covers the whole body, including its children. If the body is a retry, the limit covers
  /// all attempts together. If the body is waiting for another procedure when the time is up, that wait ends immediately. The run always
  /// waits for the cancelled body to return.
  ///
  /// Modifiers around the procedure, such as `recover` and `retry`, receive the error like any other. If several timeouts are set, the
  /// shortest one applies.
  public func timeout(_ duration: Duration) -> ProcedureTask<Input, Output> {
    procedureTask.changing { traits in
      guard duration > .zero else { return }
      traits.timeout = traits.timeout.map { min($0, duration) } ?? duration
    }
  }

  /// Returns the procedure with a deadline. A procedure that has not ended by the deadline is cancelled and fails with
  /// ``ProcedureError/Kind/timedOut``.
  ///
  /// Unlike ``timeout(_:)``, a deadline also limits the time spent waiting before the body starts. If the deadline passes during that time,
  /// the body is not executed. If the deadline has already passed when the procedure is run or added, the procedure is refused, and none of
  /// its hooks are called. If several deadlines are set, the earliest one applies.
  ///
  /// - Parameters:
  ///   - instant: The deadline.
  ///   - clock: The clock that `instant` belongs to. The remaining time is measured on the clock of the queue.
  /// - Returns: The procedure with the deadline.
  public func deadline<C: Clock>(
    _ instant: C.Instant, on clock: C
  ) -> ProcedureTask<Input, Output> where C.Duration == Duration {
    procedureTask.changing { traits in
      let deadline = Deadline { clock.now.duration(to: instant) }
      traits.deadline = traits.deadline.map { deadline.earlier($0) } ?? deadline
    }
  }

  /// Returns the procedure with a deadline on the continuous clock; see ``deadline(_:on:)``.
  public func deadline(_ instant: ContinuousClock.Instant) -> ProcedureTask<Input, Output> {
    deadline(instant, on: ContinuousClock())
  }

  /// Returns the procedure with a pause before the body. If `duration` is zero or less, there is no pause.
  ///
  /// The run holds no slot during the pause. A pause of the outermost layer does not occupy a task, either. Cancellation ends the pause
  /// immediately.
  ///
  /// If the next modifier claims resources, as in `work.delay(.seconds(1)).exclusive("disk")`, the resources are claimed when the pause
  /// ends. The resources of a layer around the pause are held during the pause. For example, the modifier `map` opens such a layer in
  /// `work.delay(.seconds(1)).map { … }.exclusive("disk")`.
  public func delay(_ duration: Duration) -> ProcedureTask<Input, Output> {
    procedureTask.inLayer { $0.delay = duration }
  }
}

extension ProcedureTask where Input == Void, Output == Void {
  /// Returns a procedure that only pauses; see ``Procedure/delay(_:)``.
  public static func delay(_ duration: Duration) -> ProcedureTask<Void, Void> {
    ProcedureTask("delay") {}.delay(duration)
  }
}

/// The instant by which work must end, on any clock.
struct Deadline: Sendable {
  let timeLeft: @Sendable () -> Duration

  /// The time that is left until the deadline. The value is negative if the deadline has passed.
  var remaining: Duration { timeLeft() }

  /// Returns the earlier of two deadlines.
  func earlier(_ other: Deadline) -> Deadline {
    Deadline { min(remaining, other.remaining) }
  }
}
