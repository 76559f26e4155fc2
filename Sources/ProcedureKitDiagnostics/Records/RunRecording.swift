/// A recording of the runs on one or more queues during a period of time.
public struct RunRecording: Sendable {
  /// The runs, in the order in which they began.
  public var runs: [RunRecord]
  /// The duration of the recording.
  public var duration: Duration
  /// The number of runs that were dropped because the recorder was full.
  public var droppedCount: Int
  /// The number of events that were lost because the recorder was too slow. If events were lost, runs that have ended may appear not to
  /// have ended.
  public var lostEventCount: Int

  /// Creates a recording.
  public init(runs: [RunRecord], duration: Duration, droppedCount: Int = 0, lostEventCount: Int = 0) {
    self.runs = runs.sorted { ($0.begin, $0.id) < ($1.begin, $1.id) }
    (self.duration, self.droppedCount, self.lostEventCount) = (duration, droppedCount, lostEventCount)
  }
}
