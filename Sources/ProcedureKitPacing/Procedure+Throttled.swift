public import ProcedureKit

extension Procedure {
  /// Returns a procedure that limits how often it executes for each key. Any runs beyond the limit are ignored, except for the latest.
  ///
  /// ```swift
  /// let redraw = Redraw().throttled(to: 1, per: .milliseconds(100)) { view in view.id }
  /// ```
  ///
  /// A run executes immediately if fewer than `count` runs with its key started within the last `interval`. Otherwise, it waits until it
  /// can start, unless another run with the same key arrives before that and supersedes it. A superseded run stops waiting immediately. As
  /// soon as its body has a slot again, the run is ignored, with the condition *throttled*. It does not count as failed. `run`, calls and
  /// handles throw a `ProcedureError` of kind `ignored`. A waiting run holds neither a slot nor resources, just as during a pause, and
  /// cancelling it ends the wait.
  ///
  /// The latest input is therefore lost only if its own run is cancelled or times out while waiting. In that case, the run that it
  /// superseded is not reinstated. The modifier counts a start when the wait ends, even if the run then has to wait for a slot or
  /// resources. Executions can overlap. To prevent that, apply `exclusive(_:_:)`.
  ///
  /// Runs are ordered by the time at which they were added or called, even if their bodies start in a different order. A run that cannot
  /// start immediately is ignored if a later run is already waiting or has started. This also applies to the attempts of a run and to the
  /// executions of a repetition. When an execution of a repetition is ignored, the repetition ends.
  ///
  /// To make every run wait for its turn instead, use `rateLimited(_:)`. All copies of the returned procedure share their keys, even across
  /// queues, so apply the modifier only once. If each request applies it again, the limit has no effect. The procedure remembers up to
  /// `count` starts for each key. Keys that are no longer used are removed from time to time, so they do not accumulate.
  ///
  /// - Parameters:
  ///   - count: The number of executions per interval. Passing a number below 1 traps.
  ///   - interval: The length of the interval, which is a sliding window.
  ///   - clock: The clock that measures the intervals. The waits use the queue's clock, but a run starts only when its interval has passed
  ///     on `clock`. If the queue has its own clock, as in a test, pass that clock.
  ///   - key: A closure that returns the key of a run. Runs with different keys do not affect each other. Strings are compared byte by
  ///     byte.
  /// - Returns: The procedure with the limit.
  public func throttled<Key: Hashable & Sendable>(
    to count: Int, per interval: Duration, clock: any Clock<Duration> = ContinuousClock(),
    by key: @escaping @Sendable (Input) -> Key
  ) -> ProcedureTask<Input, Output> {
    require(count >= 1, "\"\(name)\": throttled(to:per:) needs at least 1 execution per interval, got \(count)")
    let task = procedureTask
    let starts = RecentStarts(maxCount: count, interval: interval, QueueClock(clock))
    return task.wrapped { (input: Input) in
      let context = ProcedureContext.requireCurrent(for: task.name)
      let run = context.run
      let id = run.whole.id
      let key = InternedKey.of(key(input))
      let signal = OneShotSignal()
      let turn = starts.arrived(id, signal, for: key)
      let ignored = ProcedureError.ignored(procedure: run.layerIdentity, by: "throttled")
      switch turn {
      case .starts: break
      case .superseded: throw ignored
      case .waits(let duration):
        try await run.withSlotAndResourcesReleased {
          var (signal, duration) = (signal, duration)
          while true {
            await run.pause(until: signal, atMost: duration)
            if context.isCancelled {
              starts.left(signal, for: key)
              return
            }
            // The decision is made before the run reacquires its slot and its resources, so a later run no longer affects it.
            let next = OneShotSignal()
            switch starts.waited(id, signal, next: next, for: key) {
            case .starts: return
            case .superseded: throw ignored
            // The queue's clock can be ahead of the clock that measures the intervals, in which case the run has to wait again.
            case .waits(let rest): (signal, duration) = (next, rest)
            }
          }
        }
      }
      return try await task.executeAsLayer(input)
    }
  }

  /// Returns a procedure that limits how often it executes, regardless of its input; see `throttled(to:per:clock:by:)`.
  public func throttled(
    to count: Int, per interval: Duration, clock: any Clock<Duration> = ContinuousClock()
  ) -> ProcedureTask<Input, Output> {
    throttled(to: count, per: interval, clock: clock) { _ in true }
  }
}

/// The recent starts for each key, and the run that is waiting to start.
private final class RecentStarts: Sendable {
  enum Turn: Equatable, Sendable {
    case starts
    case waits(Duration)
    /// A later run superseded this one.
    case superseded
  }

  private struct Entry: Sendable {
    /// The instants of the latest starts, up to the number of executions per interval. Once the array is full, it is used as a ring buffer.
    var starts: [ProcedureInstant] = []
    /// The index of the earliest start, once the array is full.
    var first = 0
    var waiting: (run: ProcedureID, signal: OneShotSignal)?
    /// The latest run that started.
    var lastStarted: ProcedureID?
  }

  private struct State: Sendable {
    var entries: [InternedKey: Entry] = [:]
    /// The number of arrivals since the unused keys were last removed.
    var arrivalCount = 0
  }

  private let maxCount: Int
  private let interval: Duration
  private let time: QueueClock
  private let state = Locked(State())

  init(maxCount: Int, interval: Duration, _ time: QueueClock) {
    (self.maxCount, self.interval, self.time) = (maxCount, interval, time)
  }

  /// Decides whether a new run starts or waits. If the run waits, it supersedes the run that was waiting.
  func arrived(_ run: ProcedureID, _ signal: OneShotSignal, for key: InternedKey) -> Turn {
    let now = time.now
    // The unused keys are released while the lock is not held, because releasing them can call the user's code.
    let (turn, superseded, _) = state.withLock { state -> (Turn, OneShotSignal?, [InternedKey: Entry]) in
      let unused = removeUnused(&state, at: now)
      guard let other = state.entries[key]?.waiting else {
        return (decide(&state.entries[key, default: Entry()], run, signal, at: now), nil, unused)
      }
      // Workers do not always start procedures in the order in which they were added, so this run can be older than the waiting run.
      if run < other.run { return (.superseded, nil, unused) }
      state.entries[key]?.waiting = (run, signal)
      return (.waits(state.entries[key].map { delay($0, at: now) } ?? .zero), other.signal, unused)
    }
    superseded?.signal()
    return turn
  }

  /// Decides whether a run starts after its wait has ended. If the run has to wait again, it waits for the signal `next`.
  func waited(_ run: ProcedureID, _ signal: OneShotSignal, next: OneShotSignal, for key: InternedKey) -> Turn {
    let now = time.now
    return state.withLock { state in
      guard state.entries[key]?.waiting?.signal === signal else { return .superseded }
      state.entries[key]?.waiting = nil
      return decide(&state.entries[key, default: Entry()], run, next, at: now)
    }
  }

  /// Removes a run that was cancelled while it was waiting.
  func left(_ signal: OneShotSignal, for key: InternedKey) {
    state.withLock { if $0.entries[key]?.waiting?.signal === signal { $0.entries[key]?.waiting = nil } }
  }

  /// If a run can start now, records its start. Otherwise, makes it the waiting run, unless a later run has started. There must be no other
  /// waiting run.
  private func decide(
    _ entry: inout Entry, _ run: ProcedureID, _ signal: OneShotSignal, at now: ProcedureInstant
  ) -> Turn {
    let delay = delay(entry, at: now)
    if delay <= .zero {
      if entry.starts.count < maxCount {
        entry.starts.append(now)
      } else {
        entry.starts[entry.first] = now
        entry.first = (entry.first + 1) % maxCount
      }
      entry.lastStarted = max(run, entry.lastStarted ?? run)
      return .starts
    }
    if let last = entry.lastStarted, run < last { return .superseded }
    entry.waiting = (run, signal)
    return .waits(delay)
  }

  /// Returns the time until a run can start. If the run can start now, the time is zero or negative.
  private func delay(_ entry: Entry, at now: ProcedureInstant) -> Duration {
    entry.starts.count < maxCount ? .zero : now.duration(to: entry.starts[entry.first].advanced(by: interval))
  }

  /// Removes and returns the keys that have neither a waiting run nor a recent start. Because every key has to be checked, nothing is
  /// removed until at least as many runs have arrived as there are keys.
  ///
  /// - Complexity: Amortized O(1) for each arrival.
  private func removeUnused(_ state: inout State, at now: ProcedureInstant) -> [InternedKey: Entry] {
    state.arrivalCount += 1
    guard state.arrivalCount >= max(64, state.entries.count) else { return [:] }
    state.arrivalCount = 0
    // When the latest start of a key is outdated, so are all earlier ones.
    let unused = state.entries.filter { _, entry in
      let isRing = entry.starts.count == maxCount
      let latest = isRing ? entry.starts[(entry.first + maxCount - 1) % maxCount] : entry.starts.last
      return entry.waiting == nil && latest.map { $0.advanced(by: interval) <= now } ?? true
    }
    for key in unused.keys { state.entries[key] = nil }
    return unused
  }
}
