/// The real times at which the latest jobs of each strand began, for `RealSleeps`.
///
/// A task on an actor computes the end of a `Task.sleep` there, and then leaves the actor: the sleep begins in a job that the
/// task has made ready by itself. The time of the computation is therefore after the start of the job before.
struct JobStarts {
  private struct Start {
    var current: ContinuousClock.Instant
    /// The start of the job before, if that one has made the current job ready.
    var earliest: ContinuousClock.Instant
    var continues = false
  }

  private var starts: [Start?] = []

  /// Notes that the running job of `strand` has made the next job of the strand ready.
  mutating func willContinue(_ strand: Int) {
    if starts.indices.contains(strand) { starts[strand]?.continues = true }
  }

  /// Notes that a job of `strand` begins. A parked job that goes on has begun before.
  mutating func didStart(_ strand: Int) {
    while starts.count <= strand { starts.append(nil) }
    let now = ContinuousClock.now
    let last = starts[strand]
    starts[strand] = Start(current: now, earliest: last.map { $0.continues ? $0.current : now } ?? now)
  }

  /// The time within which `strand` can have computed the end of a sleep that begins now.
  func elapsed(in strand: Int?) -> Duration {
    guard let strand, starts.indices.contains(strand), let start = starts[strand] else { return .zero }
    return start.earliest.duration(to: .now)
  }
}
