/// A job that can run on a thread of an exploration.
struct ReadyJob: Sendable {
  let job: UnownedJob

  /// Whether the job is isolated to the main actor of the schedule.
  var isOnMainActor = false
}
