/// The main actor within one schedule: code of the exploration that is isolated to the main actor runs here, on the
/// threads of the exploration.
///
/// The runtime asks for the main actor's executor at every change to the main actor, through an exported function
/// pointer (see `GlobalExecutorWatch`).
///
/// Invariant: an object that the runtime has seen is never released, since tasks that are left behind refer to the
/// object without a reference.
final class ScheduleMainActor: SerialExecutor {
  weak let executor: ScheduleExecutor?

  init(_ executor: ScheduleExecutor) {
    self.executor = executor
  }

  /// Adds a job of the main actor. A job that arrives after the end of the schedule is abandoned.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    executor?.enqueue(ReadyJob(job: job, isOnMainActor: true))
  }

  /// Returns the executor as the runtime knows it, and keeps the object forever.
  func seenByRuntime() -> UnownedSerialExecutor {
    _ = Unmanaged.passRetained(self)
    return asUnownedSerialExecutor()
  }
}
