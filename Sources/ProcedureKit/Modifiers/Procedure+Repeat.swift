extension Procedure {
  /// Returns the procedure repeated after each success, with pauses.
  ///
  /// ```swift
  /// GetStatus().repeating(.constant(.seconds(1)), maxCount: 60) { $0 == .pending }
  /// ```
  ///
  /// The repetition ends with the value of the last execution: at the end of the schedule, after `maxCount` executions,
  /// or when `goesOn` returns `false`. A failure ends the repetition with the error. A pause holds no slot and no
  /// resource of the procedure, including resources of modifiers that follow; the outermost level pauses without a
  /// task. A cancel ends a pause at once. For all values, use ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
  ///
  /// - Parameters:
  ///   - schedule: The delays between the end of an execution and the next start.
  ///   - maxCount: The largest number of executions. A value below 1 traps.
  ///   - goesOn: Returns whether to execute again, given the value of an execution.
  /// - Returns: The procedure with its repetitions.
  public func repeating(
    _ schedule: Schedule, maxCount: Int = .max,
    while goesOn: @escaping @concurrent @Sendable (Output) async -> Bool = { _ in true }
  ) -> ProcedureTask<Input, Output> {
    repeating(.after(schedule), maxCount, goesOn)
  }

  /// Returns the procedure repeated after each success at a fixed rate; see ``repeating(_:maxCount:while:)``.
  ///
  /// `period` is the time from one start to the next; a value that is not positive means no pause. After an execution
  /// that takes longer, the next execution starts at the next multiple of the period. Missed multiples are skipped.
  public func repeating(
    every period: Duration, maxCount: Int = .max,
    while goesOn: @escaping @concurrent @Sendable (Output) async -> Bool = { _ in true }
  ) -> ProcedureTask<Input, Output> {
    repeating(.every(period), maxCount, goesOn)
  }

  private func repeating(
    _ pace: RepetitionPace, _ maxCount: Int, _ goesOn: @escaping @concurrent @Sendable (Output) async -> Bool
  ) -> ProcedureTask<Input, Output> {
    let task = procedureTask
    require(maxCount >= 1, "Procedure \"\(task.name)\": maxCount is \(maxCount); with less than 1 nothing could run")
    return task.wrapped {
      $0.mayPause = true
    } _: { input in
      let run = ProcedureContext.ofBody(task.name).run
      let timers = run.core.timers
      var state =
        run.pacing() ?? RepeatState(pace: RepetitionPace.Iterator(pace, from: timers.now, run.core.makeGenerator()))
      let output = try await task.executeAsLevel(input)
      state.count += 1
      guard state.count < maxCount, await goesOn(output), let delay = state.pace.delay(at: timers.now) else {
        return output
      }
      run.setPacing(state)
      throw Pause(duration: delay)
    }
  }
}

/// The state of a repetition between two executions.
///
/// Invariant of `@unchecked Sendable`: the driver of the run uses the state, one step after another.
private struct RepeatState: @unchecked Sendable {
  var pace: RepetitionPace.Iterator
  var count = 0
}
