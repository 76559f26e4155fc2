/// The time that one run spent in each phase, and the number of its attempts.
///
/// The times include the waits and pauses of every layer of modifiers. If one layer of a procedure pauses while another executes, as can
/// happen with the copies of a hedge, the time counts towards ``executing``.
///
/// All durations are measured on the clock of the queue. See ``ProcedureEvent/metrics``.
public struct ProcedureMetrics: Hashable, Codable, Sendable {
  /// The time that the run spent waiting for its dependencies.
  public var pending: Duration
  /// The time that the run spent evaluating its conditions.
  public var evaluating: Duration
  /// The time that the run spent waiting for resources, for its slot, or for a suspended queue to be resumed.
  public var waiting: Duration
  /// The part of ``waiting`` that the run spent waiting for resources.
  public var claiming: Duration
  /// The time that the body spent executing, summed over all attempts.
  public var executing: Duration
  /// The time that the run spent pausing: in delays, between attempts and repetitions, and while it waited for a rate limiter.
  public var paused: Duration
  /// The time from the end of the body to the end of the run. During this time, the run waits for children that the body produced, and
  /// calls its end hooks.
  public var finishing: Duration
  /// The number of attempts that have started. Retries in every layer of the procedure, and in procedures that its body calls, are
  /// included. The number is 0 if the body was never called.
  public var attempts: Int

  /// Creates metrics from their components.
  public init(
    pending: Duration = .zero, evaluating: Duration = .zero, waiting: Duration = .zero, claiming: Duration = .zero,
    executing: Duration = .zero, paused: Duration = .zero, finishing: Duration = .zero, attempts: Int = 0
  ) {
    (self.pending, self.evaluating, self.waiting, self.claiming) = (pending, evaluating, waiting, claiming)
    (self.executing, self.paused, self.finishing, self.attempts) = (executing, paused, finishing, attempts)
  }

  private enum CodingKeys: CodingKey {
    case pending, evaluating, waiting, claiming, executing, paused, finishing, attempts
  }

  /// Decodes metrics, including metrics that were encoded by a version without ``finishing`` or ``claiming``.
  ///
  /// - Throws: `DecodingError` if a value is missing or invalid.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func duration(_ key: CodingKeys) throws -> Duration { try container.decode(Seconds.self, forKey: key).duration }
    self.init(
      pending: try duration(.pending), evaluating: try duration(.evaluating), waiting: try duration(.waiting),
      claiming: container.contains(.claiming) ? try duration(.claiming) : .zero,
      executing: try duration(.executing), paused: try duration(.paused),
      finishing: container.contains(.finishing) ? try duration(.finishing) : .zero,
      attempts: try container.decode(Int.self, forKey: .attempts))
  }

  /// Encodes the durations in seconds, and the number of attempts.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Seconds(pending), forKey: .pending)
    try container.encode(Seconds(evaluating), forKey: .evaluating)
    try container.encode(Seconds(waiting), forKey: .waiting)
    try container.encode(Seconds(claiming), forKey: .claiming)
    try container.encode(Seconds(executing), forKey: .executing)
    try container.encode(Seconds(paused), forKey: .paused)
    try container.encode(Seconds(finishing), forKey: .finishing)
    try container.encode(attempts, forKey: .attempts)
  }

  /// The sum of all durations. It saturates instead of overflowing. ``claiming`` is not added, because it is already part of ``waiting``.
  public var total: Duration {
    [evaluating, waiting, executing, paused, finishing].reduce(pending) { $0.addingSaturated($1) }
  }
}

/// The counts, times and latencies of a queue's procedures since the queue was created.
///
/// A queue collects totals if ``ProcedureQueue/Configuration/collectsTotals`` is set. The totals include every procedure that is run, added
/// or produced. The nodes of a graph are counted as parts of the procedure that runs the graph. See ``QueueSnapshot/totals``.
public struct QueueTotals: Hashable, Codable, Sendable {
  /// The number of procedures that have finished with a value, including reused values.
  public private(set) var finishedCount = 0
  /// The number of procedures that have failed, including refused ones.
  public private(set) var failedCount = 0
  /// The number of cancelled procedures.
  public private(set) var cancelledCount = 0
  /// The number of procedures that were ignored because a condition was not satisfied.
  public private(set) var ignoredCount = 0
  /// The number of procedures that have finished with a reused value.
  public private(set) var reusedCount = 0
  /// The number of procedures that were refused because the queue was full or shut down, or because a deadline had passed.
  ///
  /// The number includes each call to ``ProcedureQueue/tryAdd(_:input:after:)-(_,_,[ProcedureDependency])`` that threw an error.
  public private(set) var refusedCount = 0
  /// The number of retries. Retries in every layer of a procedure, and in the nodes of graphs, are included.
  public private(set) var retryCount = 0
  /// The total time that all procedures spent in each phase.
  public private(set) var times = ProcedureMetrics()
  /// The distribution of the total time that each procedure spent waiting for dependencies, conditions, resources and slots.
  public private(set) var waiting = DurationHistogram()
  /// The distribution of the time that each procedure spent executing its body. Only procedures that have started are included.
  public private(set) var executing = DurationHistogram()

  /// Creates empty totals.
  public init() {}

  /// The number of procedures that have ended.
  public var count: Int { finishedCount + failedCount + cancelledCount + ignoredCount }

  /// Adds the totals of another queue or of another period.
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

  /// Counts the retries of a node. In all other respects, the node counts as part of its graph.
  mutating func countNode(_ metrics: ProcedureMetrics) { retryCount += max(metrics.attempts - 1, 0) }

  /// Counts a run that has ended. If `metrics` is `nil`, the run was refused.
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
  /// Adds all times and attempts of `other` to `sum`. The times saturate instead of overflowing.
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

/// The distribution of durations over fixed buckets. Because all histograms have the same buckets, those of several queues can be merged.
///
/// The bounds are 1, 2.5 and 5 times each power of ten from a microsecond to a thousand seconds. The last bucket has no upper bound. A
/// histogram has a fixed size, and recording a duration takes O(1) time.
public struct DurationHistogram: Hashable, Codable, Sendable {
  /// The upper bounds of all buckets but the last, in order.
  public static let bounds: [Duration] = (0..<10).flatMap { power -> [Duration] in
    let unit = (0..<power).reduce(1_000) { unit, _ in unit * 10 }
    return [.nanoseconds(unit), .nanoseconds(unit * 5 / 2), .nanoseconds(unit * 5)]
  }

  /// The number of durations in each bucket.
  ///
  /// A duration is in the first bucket whose bound it does not exceed. The array has one more element than ``bounds``.
  public private(set) var counts: [Int]
  /// The sum of all durations. It saturates instead of overflowing.
  public private(set) var sum: Duration

  /// Creates an empty histogram.
  public init() {
    counts = Array(repeating: 0, count: Self.bounds.count + 1)
    sum = .zero
  }

  private enum CodingKeys: CodingKey {
    case counts, sum
  }

  /// Encodes the counts, and the sum in seconds.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(counts, forKey: .counts)
    try container.encode(Seconds(sum), forKey: .sum)
  }

  /// Decodes a histogram.
  ///
  /// - Throws: `DecodingError` if there are more or fewer counts than buckets, or a count is negative.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    counts = try container.decode([Int].self, forKey: .counts)
    sum = try container.decode(Seconds.self, forKey: .sum).duration
    guard counts.count == Self.bounds.count + 1, counts.allSatisfy({ $0 >= 0 }) else {
      throw DecodingError.dataCorruptedError(
        forKey: .counts, in: container,
        debugDescription: "a histogram needs \(Self.bounds.count + 1) counts, none of them negative")
    }
  }

  /// The total number of durations.
  public var count: Int { counts.reduce(0, +) }

  /// Adds a duration. Negative durations count as zero.
  public mutating func record(_ duration: Duration) {
    counts[Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count] += 1
    sum = sum.addingSaturated(max(duration, .zero))
  }

  /// Adds all durations of another histogram.
  public mutating func merge(_ other: DurationHistogram) {
    for (index, count) in zip(counts.indices, other.counts) { counts[index] += count }
    sum = sum.addingSaturated(other.sum)
  }

  /// Returns an upper bound for the given fraction of the durations.
  ///
  /// The result is the smallest of the ``bounds`` for which at least this fraction of the durations is less than or equal to the bound.
  ///
  /// - Parameter part: The fraction, from 0 to 1. Values outside of this range are clamped. For example, at most one percent of the
  ///   durations exceed the result for 0.99.
  /// - Returns: The bound; `nil` if the histogram is empty, or if the fraction is reached only in the last bucket, which has no upper
  ///   bound.
  public func quantile(_ part: Double) -> Duration? {
    let all = count
    guard all > 0 else { return nil }
    let rank = max(1, Int((Double(all) * min(max(part, 0), 1)).rounded(.up)))
    var passed = 0
    for (index, count) in counts.enumerated() {
      passed += count
      if passed >= rank { return index < Self.bounds.count ? Self.bounds[index] : nil }
    }
    return nil
  }
}
