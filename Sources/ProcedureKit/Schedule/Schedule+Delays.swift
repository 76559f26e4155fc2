extension Schedule {
  /// Returns the delays as a sequence, for tests and inspection. Most schedules never end.
  ///
  /// ```swift
  /// Array(Schedule.fibonacci(.seconds(1)).delays().prefix(5))  // 0, 1, 1, 2 and 3 seconds
  /// ```
  ///
  /// - Parameter generator: The source of random delays. Equal generators give equal delays.
  /// - Returns: A sequence that starts again on each iteration.
  public func delays(using generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) -> Delays {
    Delays(rest: ScheduleEvaluation(expression), generator: generator)
  }

  /// The sequence of a schedule's delays.
  public struct Delays: Sequence, IteratorProtocol {
    fileprivate var rest: ScheduleEvaluation
    fileprivate var generator: any RandomNumberGenerator

    /// Returns the next delay; `nil` at the end of the schedule.
    public mutating func next() -> Duration? {
      rest.next(using: &generator)
    }
  }
}
