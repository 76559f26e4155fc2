public import ProcedureKit

extension Procedure {
  /// Returns the procedure with a limit on how often it executes for each key. Of the runs beyond the limit, only the latest one executes.
  ///
  /// ```swift
  /// let redraw = Redraw().throttled(to: 1, per: .milliseconds(100)) { view in view.id }
  /// ```
  ///
  /// A run executes at once if fewer than `count` runs with its key have started within the last `interval`. Otherwise, it waits until it
  /// can start, unless another run with the key arrives first and supersedes it. A superseded run ends immediately and is ignored, with the
  /// condition *throttled*; it does not count as failed. The latest state is therefore never lost. A waiting run holds neither a slot nor
  /// resources, as in a pause, and cancelling it ends the wait.
  ///
  /// To let all runs wait for their turn, use `rateLimited(_:)` instead. All copies of the returned procedure share their keys, on all
  /// queues.
  ///
  /// - Parameters:
  ///   - count: The number of executions per interval. Passing a number below 1 traps.
  ///   - interval: The interval, which moves with the time.
  ///   - clock: The clock that measures the intervals. In a test, pass the clock of the queue.
  ///   - key: Returns the key of a run. Runs with different keys do not affect each other. Strings are compared byte by byte.
  /// - Returns: The procedure with the limit.
  public func throttled<Key: Hashable & Sendable>(
    to count: Int, per interval: Duration, clock: any Clock<Duration> = ContinuousClock(),
    by key: @escaping @Sendable (Input) -> Key
  ) -> ProcedureTask<Input, Output> {
    require(count >= 1, "\"\(name)\": throttled(to:per:) needs at least 1 execution per interval, got \(count)")
    let task = procedureTask
    let starts = RecentStarts(maxCount: count, interval: interval, QueueClock(clock))
    return task.wrapped { (input: Input) in
      let run = ProcedureContext.requireCurrent(for: task.name).run
      let key = InternedKey.of(key(input))
      var signal = OneShotSignal()
      var turn = starts.arrived(run.id, signal, for: key)
      while case .waits(let duration) = turn {
        do {
          try await run.withResourcesReleased { await run.pause(until: signal, atMost: duration) }
        } catch {
          starts.left(signal, for: key)
          throw error
        }
        // The clock of the queue can be ahead of the clock of the intervals, so the run may have to wait again.
        let next = OneShotSignal()
        turn = starts.waited(run.id, signal, next: next, for: key)
        signal = next
      }
      guard turn == .starts else { throw ProcedureError.ignored(procedure: run.layerIdentity, by: "throttled") }
      return try await task.executeAsLayer(input)
    }
  }

  /// Returns the procedure with a limit on how often it executes, with any input; see `throttled(to:per:clock:by:)`.
  public func throttled(
    to count: Int, per interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> ProcedureTask<Input, Output> {
    throttled(to: count, per: interval, clock: clock) { _ in true }
  }
}

/// The recent starts for each key, and the run that is waiting for its start.
private final class RecentStarts: Sendable {
  enum Turn: Equatable, Sendable {
    case starts
    case waits(Duration)
    /// A later run has taken the place of the run.
    case superseded
  }

  private struct Entry: Sendable {
    /// The instants of the latest starts, at most one for each execution per interval.
    var starts: [ProcedureInstant] = []
    var waiting: (run: ProcedureID, signal: OneShotSignal)?
    /// The latest run that has started.
    var lastStarted: ProcedureID?
  }

  private let maxCount: Int
  private let interval: Duration
  private let time: QueueClock
  private let entries = Locked<[InternedKey: Entry]>([:])

  init(maxCount: Int, interval: Duration, _ time: QueueClock) {
    (self.maxCount, self.interval, self.time) = (maxCount, interval, time)
  }

  /// Decides whether a run that arrives starts or waits. If it waits, it supersedes the run that has waited so far.
  func arrived(_ run: ProcedureID, _ signal: OneShotSignal, for key: InternedKey) -> Turn {
    let now = time.now
    // The unused keys are released after the lock, because that can call the user's code.
    let (turn, superseded, _) = entries.withLock { entries -> (Turn, OneShotSignal?, [InternedKey: Entry]) in
      let unused = entries[key] == nil ? removeUnused(&entries, at: now) : [:]
      var entry = entries[key] ?? Entry()
      defer { entries[key] = entry }
      guard let other = entry.waiting else { return (decide(&entry, run, signal, at: now), nil, unused) }
      // Workers can start added procedures in a different order, so the run can be older than the waiting one.
      if run < other.run { return (.superseded, nil, unused) }
      entry.waiting = (run, signal)
      return (.waits(delay(entry, at: now)), other.signal, unused)
    }
    superseded?.signal()
    return turn
  }

  /// Decides whether a run starts whose wait has ended. If it has to wait again, it waits at the signal `next`.
  func waited(_ run: ProcedureID, _ signal: OneShotSignal, next: OneShotSignal, for key: InternedKey) -> Turn {
    let now = time.now
    return entries.withLock { entries in
      guard entries[key]?.waiting?.signal === signal else { return .superseded }
      entries[key]?.waiting = nil
      return decide(&entries[key, default: Entry()], run, next, at: now)
    }
  }

  /// Removes a run that was cancelled while it was waiting.
  func left(_ signal: OneShotSignal, for key: InternedKey) {
    entries.withLock { if $0[key]?.waiting?.signal === signal { $0[key]?.waiting = nil } }
  }

  /// Records the start of a run, or makes it the waiting one, if no other run is waiting.
  private func decide(
    _ entry: inout Entry, _ run: ProcedureID, _ signal: OneShotSignal, at now: ProcedureInstant
  ) -> Turn {
    let delay = delay(entry, at: now)
    if delay <= .zero {
      entry.starts = entry.starts.suffix(maxCount - 1) + [now]
      entry.lastStarted = max(run, entry.lastStarted ?? run)
      return .starts
    }
    if let last = entry.lastStarted, run < last { return .superseded }
    entry.waiting = (run, signal)
    return .waits(delay)
  }

  /// Returns the time until a run can start; zero or negative if it can start now.
  private func delay(_ entry: Entry, at now: ProcedureInstant) -> Duration {
    entry.starts.count < maxCount ? .zero : now.duration(to: entry.starts[0].advanced(by: interval))
  }

  /// Removes and returns the keys without a waiting run and without a recent start, so that the memory is proportional to the number of
  /// keys in use.
  private func removeUnused(
    _ entries: inout [InternedKey: Entry], at now: ProcedureInstant
  ) -> [InternedKey: Entry] {
    // The dictionary is about to grow.
    guard entries.count >= 64, entries.count == entries.capacity else { return [:] }
    let unused = entries.filter { _, entry in
      entry.waiting == nil && entry.starts.allSatisfy { $0.advanced(by: interval) <= now }
    }
    for key in unused.keys { entries[key] = nil }
    return unused
  }
}
