/// The runs of some queues over some time.
public struct RunRecording: Sendable {
  /// The runs, in the order of their beginnings.
  public var runs: [RunRecord]
  /// How long the recording has lasted.
  public var duration: Duration
  /// How many runs were dropped since there were more than the recorder keeps.
  public var droppedCount: Int
  /// How many events were lost since the recorder was too slow; runs can lack an end then.
  public var lostEventCount: Int

  /// Creates a recording.
  public init(runs: [RunRecord], duration: Duration, droppedCount: Int = 0, lostEventCount: Int = 0) {
    self.runs = runs.sorted { ($0.begin, $0.id) < ($1.begin, $1.id) }
    (self.duration, self.droppedCount, self.lostEventCount) = (duration, droppedCount, lostEventCount)
  }
}
