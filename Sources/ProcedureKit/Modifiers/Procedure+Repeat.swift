extension Procedure {
  /// The same procedure, which is executed again after each success, with a pause between.
  ///
  /// ```swift
  /// GetStatus().repeating(.constant(.seconds(1)), maxCount: 60) { $0 == .pending }
  /// ```
  ///
  /// It ends with the value of the last execution: when the schedule does, after so many executions, or as soon as one is not
  /// to be followed by another. A failure ends it with that error. A pause holds no slot and no resource of this procedure,
  /// those written after it included; it takes no task, and a cancel ends it at once. To see all values there is
  /// ``ProcedureQueue/repeating(_:input:_:maxCount:)``.
  ///
  /// - Parameters:
  ///   - schedule: How long to wait between the end of an execution and the start of the next one.
  ///   - maxCount: How many executions there may be; at least 1, or this traps.
  ///   - goesOn: Given the value of each execution, says whether another one follows.
  /// - Returns: The procedure with its repetitions.
  public func repeating(
    _ schedule: Schedule, maxCount: Int = .max,
    while goesOn: @escaping @concurrent @Sendable (Output) async -> Bool = { _ in true }
  ) -> ProcedureTask<Input, Output> {
    repeating(.after(schedule), maxCount, goesOn)
  }

  /// The same procedure, which is executed again after each success, at a fixed rate; see ``repeating(_:maxCount:while:)``.
  ///
  /// An execution that takes longer than the period is followed by the next at the first beat after its end: beats that were
  /// missed are skipped.
  ///
  /// - Parameters:
  ///   - period: The time from one start to the next; no pause, if it is not positive.
  ///   - maxCount: How many executions there may be; at least 1, or this traps.
  ///   - goesOn: Given the value of each execution, says whether another one follows.
  /// - Returns: The procedure with its repetitions.
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
      var state = run.pacing() ?? RepeatState(pace: RepetitionPace.Iterator(pace, from: timers.now, run.core.randomNumbers))
      let output = try await task.executeAsLevel(input)
      state.count += 1
      guard state.count < maxCount, await goesOn(output), let delay = state.pace.delay(at: timers.now) else { return output }
      run.setPacing(state)
      throw Pause(duration: delay)
    }
  }
}

/// Where a repetition stands between two executions.
///
/// Invariant of `@unchecked Sendable`: the driver of the run uses the state, one step after another.
private struct RepeatState: @unchecked Sendable {
  var pace: RepetitionPace.Iterator
  var count = 0
}
