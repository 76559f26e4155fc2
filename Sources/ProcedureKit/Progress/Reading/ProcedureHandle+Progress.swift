extension ProcedureHandle {
  /// How far the procedure is: the present value, then the newest whenever there is a new one, until the run ends.
  ///
  /// ```swift
  /// for await progress in handle.progress {
  ///   print(progress, progress.remaining.map { "\($0) left" } ?? "")
  /// }
  /// ```
  ///
  /// The last value of a run that has finished has the fraction 1. Each access is a subscription of its own; a slow reader misses values in between and delays no run.
  /// Children that had ended before anybody reported or read progress do not count. Cancelling the task that iterates the stream
  /// ends the stream, which is for one consumer. A body that waits for a value lends its slot.
  ///
  /// See ``ProgressReporter`` for how progress adds up.
  public var progress: AsyncStream<ProcedureProgress> { ProgressReader.values(of: run) }
}
