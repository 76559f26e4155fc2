import ProcedureKit

/// A recording of the runs on one or more queues during a period of time.
public struct RunRecording: Sendable {
  /// The runs, in the order in which they began.
  public var runs: [RunRecord]
  /// The time from the beginning of the recording to the last recorded event.
  public var duration: Duration
  /// The number of runs that were dropped because the recorder was full.
  public var droppedCount: Int
  /// The number of events that were lost because the recorder was too slow. If events were lost, runs that have ended may still appear to
  /// be executing.
  public var lostEventCount: Int

  /// Creates a recording.
  public init(runs: [RunRecord], duration: Duration, droppedCount: Int = 0, lostEventCount: Int = 0) {
    self.runs = runs.sorted { ($0.begin, $0.id) < ($1.begin, $1.id) }
    (self.duration, self.droppedCount, self.lostEventCount) = (duration, droppedCount, lostEventCount)
  }

  /// The durations of graph nodes, by name. To use them in a later run, pass them to `graph.expected(durations:)`.
  ///
  /// A node's duration is measured from the start of its first attempt until the node ends. Only nodes that were executed and returned a
  /// value are included. If several nodes have the same name, the value is the mean of their durations. The dictionary can be encoded and
  /// stored.
  public var nodeDurations: [String: Duration] {
    var sums: [String: (sum: Duration, count: Int)] = [:]
    for run in runs where run.graph != nil && run.outcome == .finished {
      guard let begin = run.executions.first?.begin, let end = run.end else { continue }
      sums[run.name, default: (.zero, 0)].sum += end - begin
      sums[run.name, default: (.zero, 0)].count += 1
    }
    return sums.mapValues { $0.sum / $0.count }
  }
}
