import Synchronization

/// An executor that runs one job at a time on the global executor and reports when no jobs are left.
///
/// Jobs run in the order in which they arrive. Each batch of ready jobs is run by one task, the driver.
final class IdleTrackingExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// Whether a task is running the executor's jobs or is about to run them.
    var isDriven = false
  }

  private let state = Mutex(State())
  private let didBecomeIdle: @Sendable (IdleTrackingExecutor) -> Void

  /// Creates an executor.
  ///
  /// - Parameter didBecomeIdle: A closure that is called when the last ready job has run and no other job has become ready. The executor's
  ///   lock is not held during the call.
  init(didBecomeIdle: @escaping @Sendable (IdleTrackingExecutor) -> Void) {
    self.didBecomeIdle = didBecomeIdle
  }

  /// Whether the executor is idle, which means that no job is ready or running.
  var isIdle: Bool { state.withLock { !$0.isDriven } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsDriver = state.withLock { state in
      state.jobs.append(job)
      defer { state.isDriven = true }
      return !state.isDriven
    }
    if needsDriver { KitSpawner.startDriver { self.runReadyJobs() } }
  }

  /// Runs the jobs that are ready. Jobs that become ready during the call are left for another driver task, so that unrelated tasks can use
  /// the thread first.
  private func runReadyJobs() {
    let jobs = state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
    let executor = asUnownedTaskExecutor()
    for job in jobs { job.runSynchronously(on: executor) }
    let isIdle = state.withLock { state in
      state.isDriven = !state.jobs.isEmpty
      return !state.isDriven
    }
    if isIdle { didBecomeIdle(self) } else { KitSpawner.startDriver { self.runReadyJobs() } }
  }
}
