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
    return ProcedureTask(name: task.name, priority: task.priority) { input in
      let context = ProcedureContext.ofBody(task.name)
      let timers = context.scope.timers
      var (pace, count) = (RepetitionPace.Iterator(pace, from: timers.now, context.scope.randomNumbers), 0)
      var fairness = timers.fairness
      while true {
        let output = try await context.executePart(attempt: context.attempt) {
          try await task.executeAsBody(input)
        }
        count += 1
        guard count < maxCount, await goesOn(output), let delay = pace.delay(at: timers.now) else { return output }
        try await context.pause(for: delay)
        if fairness.pieceEnds() { await Task.yield() }
      }
    }
  }
}
