/// What has happened on a queue since it was made: counts, times and latencies.
///
/// Collected if ``ProcedureQueue/Configuration/collectsTotals`` is set. Procedures of `run`, `add` and `produce` count; nodes of
/// graphs are parts of the procedure that runs the graph. See ``QueueSnapshot/totals``.
public struct QueueTotals: Hashable, Codable, Sendable {
  /// How many procedures have finished with a value, reused ones included.
  public private(set) var finishedCount = 0
  /// How many procedures have failed, refused ones included.
  public private(set) var failedCount = 0
  /// How many procedures were cancelled.
  public private(set) var cancelledCount = 0
  /// How many procedures were ignored, since a condition was not satisfied.
  public private(set) var ignoredCount = 0
  /// How many procedures have finished with a value that was there already.
  public private(set) var reusedCount = 0
  /// How many procedures the queue has refused: it was full or shut down, or a deadline had passed. A refusal that
  /// ``ProcedureQueue/tryAdd(_:input:after:)-(_,_,[ProcedureDependency])`` throws counts, too.
  public private(set) var refusedCount = 0
  /// How many attempts have followed a failed one, in any layer of a procedure, and in the nodes of graphs.
  public private(set) var retryCount = 0
  /// The sums of the times of all procedures.
  public private(set) var times = ProcedureMetrics()
  /// How long procedures have waited for dependencies, conditions, resources and slots, each in all.
  public private(set) var waiting = DurationHistogram()
  /// How long bodies have executed, for each procedure that has started.
  public private(set) var executing = DurationHistogram()

  /// Creates totals of nothing.
  public init() {}

  /// How many procedures have ended.
  public var count: Int { finishedCount + failedCount + cancelledCount + ignoredCount }

  /// Adds the totals of another queue, or of another time.
  public mutating func merge(_ other: QueueTotals) {
    finishedCount += other.finishedCount
    failedCount += other.failedCount
    cancelledCount += other.cancelledCount
    ignoredCount += other.ignoredCount
    reusedCount += other.reusedCount
    refusedCount += other.refusedCount
    retryCount += other.retryCount
    times += other.times
    waiting.merge(other.waiting)
    executing.merge(other.executing)
  }

  /// Counts the retries of a node, which is otherwise a part of its graph.
  mutating func countNode(_ metrics: ProcedureMetrics) { retryCount += max(metrics.attempts - 1, 0) }

  /// Counts a run that has ended; one without metrics was refused.
  mutating func count(_ outcome: ProcedureOutcome<Void>, _ metrics: ProcedureMetrics?, isReused: Bool) {
    switch outcome {
    case .finished: finishedCount += 1
    case .failed: failedCount += 1
    case .cancelled: cancelledCount += 1
    case .ignored: ignoredCount += 1
    }
    if isReused { reusedCount += 1 }
    guard let metrics else {
      refusedCount += 1
      return
    }
    retryCount += max(metrics.attempts - 1, 0)
    times += metrics
    waiting.record(metrics.pending.addingSaturated(metrics.evaluating).addingSaturated(metrics.waiting))
    if metrics.attempts > 0 { executing.record(metrics.executing) }
  }
}

extension ProcedureMetrics {
  /// Adds all times and attempts, saturated.
  public static func += (sum: inout ProcedureMetrics, other: ProcedureMetrics) {
    sum.pending = sum.pending.addingSaturated(other.pending)
    sum.evaluating = sum.evaluating.addingSaturated(other.evaluating)
    sum.waiting = sum.waiting.addingSaturated(other.waiting)
    sum.claiming = sum.claiming.addingSaturated(other.claiming)
    sum.executing = sum.executing.addingSaturated(other.executing)
    sum.paused = sum.paused.addingSaturated(other.paused)
    sum.finishing = sum.finishing.addingSaturated(other.finishing)
    sum.attempts += other.attempts
  }
}
