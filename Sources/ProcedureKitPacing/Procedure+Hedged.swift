public import ProcedureKit

extension Procedure {
  /// Returns the procedure with a second copy, which starts once the first copy has taken longer than most of the recent runs.
  ///
  /// ```swift
  /// let read = Read().hedged(afterPercentile: 95, initialDelay: .milliseconds(300))
  /// ```
  ///
  /// The copies behave as they do with `hedged(after:)` in `ProcedureKit`, but the delay adapts to the procedure. The delay is a percentile
  /// of the durations of the most recent successful runs. With a percentile of 95, about one run in twenty starts a second copy, however
  /// fast the runs are.
  ///
  /// The duration of a run is the time until one of its copies succeeds, including waits for slots. It is measured from the start of the
  /// first copy, even if the second one succeeds. A run with a second copy has therefore always taken longer than the delay, so second
  /// copies do not shorten the delay of later runs. Runs that fail or are cancelled do not count. Times are measured on the queue's clock.
  ///
  /// If a server suddenly becomes slow, all runs take longer than the delay, and their second copies would double the load on the server.
  /// The number of second copies is therefore limited relative to the number of runs, and the delay grows as the slow runs finish.
  ///
  /// All runs of the returned procedure share the recorded durations and the limit on second copies, even on different queues. Therefore,
  /// apply the modifier only once, and not in `configured(_:)`, which is called for each run.
  ///
  /// - Parameters:
  ///   - percentile: The percentile that determines the delay. The delay is the shortest duration such that this percentage of the most
  ///     recent successful runs took no longer. The number must be above 0 and at most 100. Passing any other number traps.
  ///   - initialDelay: The delay to use until `minSamples` runs have succeeded.
  ///   - minSamples: The number of successful runs after which the percentile is used. Passing a number below 1 traps.
  ///   - maxSamples: The number of recent successful runs whose durations are kept. Passing a number below `minSamples` traps.
  ///   - maxShare: The maximum number of second copies relative to the number of runs. While `maxSamples` runs start, at most this share of
  ///     `maxSamples` second copies start, but one second copy is always allowed. If a run cannot start a second copy, its first copy
  ///     continues. The number must be above 0 and at most 1. Passing any other number traps.
  /// - Returns: A procedure that starts a second copy when the delay has passed.
  public func hedged(
    afterPercentile percentile: Double, initialDelay: Duration, minSamples: Int = 20, maxSamples: Int = 200,
    maxShare: Double = 0.1
  ) -> ProcedureTask<Input, Output> {
    require(
      percentile > 0 && percentile <= 100,
      "\"\(name)\": the hedge percentile must be above 0 and at most 100, got \(percentile)")
    require(
      minSamples >= 1, "\"\(name)\": minSamples must be at least 1, got \(minSamples)")
    require(
      maxSamples >= minSamples,
      "\"\(name)\": maxSamples must be at least minSamples (\(minSamples)), got \(maxSamples)")
    require(
      maxShare > 0 && maxShare <= 1,
      "\"\(name)\": maxShare must be above 0 and at most 1, got \(maxShare)")
    let task = procedureTask
    let hedging = Locked(
      HedgingMachine(
        percentile: percentile, initialDelay: initialDelay, minSamples: minSamples, maxSamples: maxSamples,
        maxShare: maxShare))
    return task.wrapped { (input: Input) in
      let run = ProcedureContext.requireCurrent(for: task.name).run
      let delay = hedging.withLock { $0.runStarted() }
      let start = run.instant
      return try await Hedge(task, input, of: run).execute(after: delay) {
        hedging.withLock { $0.delayPassed() }
      } didSucceed: {
        let duration = start.duration(to: run.instant)
        hedging.withLock { $0.runSucceeded(after: duration) }
      }
    }
  }
}

/// A state machine that decides whether and when the second copy of a run starts.
struct HedgingMachine: Sendable {
  private let percentile: Double
  private let initialDelay: Duration
  private let minSamples: Int
  private let maxSamples: Int
  /// The maximum number of second copies that start while `maxSamples` runs start.
  private let maxHedges: Int

  /// The durations of the most recent successful runs, in the order in which the runs finished. Once the array is full, it is used as a
  /// ring buffer.
  private var latest: [Duration] = []
  /// The index of the oldest duration, once the array is full.
  private var oldest = 0
  /// The durations in ``latest``, in ascending order.
  private var ascending: [Duration] = []
  /// The number of runs that have started.
  private var runCount = 0
  /// For each of the latest second copies, the number of runs that had started before it. Once the array is full, it is used as a ring
  /// buffer.
  private var hedges: [Int] = []
  /// The index of the earliest second copy, once the array is full.
  private var earliest = 0

  init(percentile: Double, initialDelay: Duration, minSamples: Int, maxSamples: Int, maxShare: Double) {
    (self.percentile, self.initialDelay) = (percentile, initialDelay)
    (self.minSamples, self.maxSamples) = (minSamples, maxSamples)
    // The product can be slightly below the intended integer, because shares such as 0.29 are rounded.
    maxHedges = max(1, Int(min((maxShare * Double(maxSamples)).nextUp, 0x1p62)))
  }

  /// Records that a run has started. Returns the delay after which its second copy can start.
  mutating func runStarted() -> Duration {
    runCount += 1
    guard ascending.count >= minSamples else { return initialDelay }
    // The product can be slightly above the intended integer, because percentiles such as 99.9 are rounded.
    let rank = Int((percentile * Double(ascending.count) / 100).nextDown.rounded(.up))
    // A run that takes exactly this long does not exceed the duration, so the second copy starts a nanosecond later.
    return ascending[min(max(rank, 1), ascending.count) - 1].addingSaturated(.nanoseconds(1))
  }

  /// Records that the delay of a run has passed. Returns whether the second copy can start.
  mutating func delayPassed() -> Bool {
    guard hedges.count == maxHedges else {
      hedges.append(runCount)
      return true
    }
    guard runCount - hedges[earliest] >= maxSamples else { return false }
    hedges[earliest] = runCount
    earliest = (earliest + 1) % maxHedges
    return true
  }

  /// Records the duration of a successful run. If `maxSamples` durations are already recorded, the new one replaces the oldest.
  ///
  /// - Complexity: O(n) for n durations.
  mutating func runSucceeded(after duration: Duration) {
    if latest.count < maxSamples {
      latest.append(duration)
    } else {
      ascending.remove(at: place(of: latest[oldest]))
      latest[oldest] = duration
      oldest = (oldest + 1) % maxSamples
    }
    ascending.insert(duration, at: place(of: duration))
  }

  /// Returns the number of recorded durations that are shorter than `duration`.
  private func place(of duration: Duration) -> Int {
    var range = 0..<ascending.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = ascending[middle] < duration ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }
}
