/// The jobs of an exploration that are waiting for the end of a `Task.sleep` or of a wait on one of the system's clocks.
///
/// Elsewhere, such jobs wait in real time. In an exploration, they wait in the virtual time of `ExplorationEnvironment.clock`.
struct RealSleeps {
  private var queue = SleepQueue()
  private var jobs: [UInt64: (job: ReadyJob, sleeper: Int?)] = [:]

  /// The number of sleeps so far.
  private(set) var count: UInt64 = 0

  var nextDeadline: VirtualClock.Instant? { queue.first?.deadline }

  mutating func insert(_ job: ReadyJob, until deadline: VirtualClock.Instant, by sleeper: Int?) {
    count += 1
    queue.insert(SleepQueue.Sleep(deadline: deadline, number: count))
    jobs[count] = (job, sleeper)
  }

  /// Removes and returns the jobs whose deadlines are not later than `instant`, or all jobs if `instant` is `nil`. The jobs are in the
  /// order in which they wake, each with the task that is sleeping.
  mutating func removeAll(through instant: VirtualClock.Instant?) -> [(job: ReadyJob, sleeper: Int?)] {
    let end = instant ?? VirtualClock.Instant(offset: .seconds(Int64.max))
    return queue.removeAll(through: end).compactMap { jobs.removeValue(forKey: $0.number) }
  }

  /// Returns the virtual duration for a real sleep that has `remaining` left, and whose end was computed at most `elapsed` ago.
  ///
  /// The runtime does not report the requested duration. It reports only the instant at which the sleep ends in real time, and does so some
  /// time after the sleeping code has computed this instant. The requested duration is therefore between `remaining` and
  /// `remaining + elapsed`. The function returns the shortest duration in whole milliseconds that is not below `remaining`. Usually, this
  /// is the only such duration in the range. Otherwise, `isExact` is `false`.
  static func virtualDuration(remaining: Duration, elapsed: Duration) -> (duration: Duration, isExact: Bool) {
    guard remaining < .seconds(Int64(1) << 40) else { return (remaining, true) }
    let least = max(1, milliseconds(remaining + .nanoseconds(999_999)))
    return (.milliseconds(least), least >= milliseconds(remaining + elapsed))
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}

/// A test of whether an exploration can intercept real-time sleeps.
enum RealSleepTest {
  /// Whether explorations in this process control real-time sleeps.
  static let isSuccessful: Bool = {
    guard UndocumentedParts.areAllowed else { return false }
    let pool = ThreadPool()
    defer { pool.shutDown() }
    let executor = ScheduleExecutor(chooser: FirstChooser(), pool: pool, preemptionLimit: 0)
    let environment = ExplorationEnvironment(executor: executor, schedule: 0, seed: 0)
    executor.environment = environment
    executor.asDriver { KitSpawner.startSleeper(on: executor) }
    _ = executor.runUntilIdle(limit: .max)
    _ = executor.asDriver { executor.endSleeps(through: nil) }
    _ = executor.runUntilIdle(limit: .max)
    return executor.realSleeps > 0
  }()
}

/// A point in the execution of a thread, given as an instant of real time and as the processor time that the thread has used.
///
/// `Task.sleep` reads the clock immediately before it passes the wait to the executor. It uses very little processor time in between, but
/// the system can suspend the thread for a while.
struct ThreadMoment {
  /// An estimate, with a wide margin, of the processor time that `Task.sleep` uses after it has read the clock.
  private static let processorTimeOfSleep: Duration = .microseconds(300)

  private let time = ContinuousClock.now
  private let thread = Platform.Thread.current
  private let processorTime: Duration?

  /// Records the current point.
  ///
  /// - Parameter measuresProcessorTime: Whether to record the processor time, too. Recording it takes a system call.
  init(measuresProcessorTime: Bool = false) {
    processorTime = measuresProcessorTime ? Platform.processorTimeOfThread : nil
  }

  /// Returns the longest time that can have passed since `Task.sleep` read the clock, for a sleep that begins now. The function assumes
  /// that the clock was read after this point.
  func elapsedSinceClockReading() -> Duration {
    let elapsed = time.duration(to: .now)
    guard let processorTime, thread == Platform.Thread.current, let now = Platform.processorTimeOfThread else {
      return elapsed
    }
    return min(elapsed, elapsed - (now - processorTime) + Self.processorTimeOfSleep)
  }
}
