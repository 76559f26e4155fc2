extension Schedule {
  /// The delays one after another, for tests and to look at; mind that most schedules never end.
  ///
  /// ```swift
  /// Array(Schedule.fibonacci(.seconds(1)).delays().prefix(5))  // 0, 1, 1, 2 and 3 seconds
  /// ```
  ///
  /// - Parameter generator: Where random delays come from: the same generator gives the same delays.
  /// - Returns: A sequence that starts anew each time it is walked.
  public func delays(using generator: any RandomNumberGenerator = SystemRandomNumberGenerator()) -> Delays {
    Delays(rest: makeIterator(), generator: generator)
  }

  /// The delays of a schedule, one after another.
  public struct Delays: Sequence, IteratorProtocol {
    fileprivate var rest: Iterator
    fileprivate var generator: any RandomNumberGenerator

    /// The next delay; `nil` at the end of the schedule.
    public mutating func next() -> Duration? {
      rest.next(using: &generator)
    }
  }
}
