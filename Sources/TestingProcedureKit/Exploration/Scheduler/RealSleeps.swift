/// The jobs that would otherwise sleep in real time, because they belong to `Task.sleep` or to the system's clocks.
///
/// In an exploration, these jobs sleep in the virtual time of `ExplorationEnvironment.clock`.
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

  /// Removes and returns the jobs whose deadlines are not later than `instant`, or all jobs if it is `nil`. The jobs are in the order in
  /// which they wake, each with the task that is sleeping.
  mutating func removeAll(through instant: VirtualClock.Instant?) -> [(job: ReadyJob, sleeper: Int?)] {
    let end = instant ?? VirtualClock.Instant(offset: .seconds(Int64.max))
    return queue.removeAll(through: end).compactMap { jobs.removeValue(forKey: $0.number) }
  }

  /// Returns the virtual duration for a real sleep that would end after `remaining`, and whose end was computed at most `elapsed` ago.
  ///
  /// The runtime provides only the end of a sleep in real time, some time after the code computed it. Therefore, the duration in the code
  /// is between `remaining` and `remaining + elapsed`. The function returns the roundest duration in this range, in whole milliseconds, so
  /// that equal sleeps have equal durations even on a busy machine.
  static func virtualDuration(remaining: Duration, elapsed: Duration) -> Duration {
    guard remaining < .seconds(Int64(1) << 40) else { return remaining }
    let least = max(1, milliseconds(remaining + .nanoseconds(999_999)))
    let most = max(least, milliseconds(remaining + elapsed))
    for unit: Int64 in [86_400_000, 3_600_000, 60_000, 10_000, 1_000, 100, 50, 10, 5] {
      let duration = most / unit * unit
      if duration >= least { return .milliseconds(duration) }
    }
    return .milliseconds(most)
  }

  private static func milliseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
  }
}

/// A test of whether an exploration can intercept sleeps in real time.
enum RealSleepTest {
  /// Whether explorations in this process control sleeps in real time.
  static let isSuccessful: Bool = {
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

/// The real times at which each task's latest jobs began, for `RealSleeps`.
///
/// A task on an actor computes the end of a `Task.sleep` on the actor, and then leaves the actor, so the sleep begins in a job that the
/// task itself made ready. Therefore, the end was computed after the start of the previous job.
struct JobStarts {
  private struct Start {
    var current: ContinuousClock.Instant
    /// The start of the previous job, if that job made the current one ready.
    var earliest: ContinuousClock.Instant
    var continues = false
  }

  private var starts: [Start?] = []

  /// Records that the running job of `task` has made the next job of the task ready.
  mutating func willContinue(_ task: Int) {
    if starts.indices.contains(task) { starts[task]?.continues = true }
  }

  /// Records that a job of `task` starts. A parked job that continues has started earlier and is not recorded again.
  mutating func didStart(_ task: Int) {
    while starts.count <= task { starts.append(nil) }
    let now = ContinuousClock.now
    let last = starts[task]
    starts[task] = Start(current: now, earliest: last.map { $0.continues ? $0.current : now } ?? now)
  }

  /// Returns the longest time that can have passed since `task` computed the end of a sleep that begins now.
  func elapsed(in task: Int?) -> Duration {
    guard let task, starts.indices.contains(task), let start = starts[task] else { return .zero }
    return start.earliest.duration(to: .now)
  }
}
