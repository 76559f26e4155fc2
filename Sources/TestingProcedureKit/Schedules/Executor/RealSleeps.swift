/// The jobs that would wait for real time: those of `Task.sleep` and of the system's clocks.
///
/// In an exploration, these jobs wait for the virtual time of `ExplorationEnvironment.clock`.
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

  /// Removes and returns the jobs with a deadline up to `instant` (all jobs without an instant), in waking order, with
  /// the strand that sleeps.
  mutating func removeAll(through instant: VirtualClock.Instant?) -> [(job: ReadyJob, sleeper: Int?)] {
    let end = instant ?? VirtualClock.Instant(offset: .seconds(Int64.max))
    return queue.removeAll(through: end).compactMap { jobs.removeValue(forKey: $0.number) }
  }

  /// Returns the virtual duration of a real sleep that has `remaining` left: whole milliseconds, rounded up.
  ///
  /// The runtime only tells an instant in real time, some microseconds after the code computed the instant. Equal sleeps
  /// last equally long due to the rounding.
  static func virtualDuration(remaining: Duration) -> Duration {
    let (seconds, attoseconds) = remaining.components
    let perMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds = (attoseconds + perMillisecond - 1) / perMillisecond
    return max(.milliseconds(1), .seconds(seconds) + .milliseconds(milliseconds))
  }
}
