#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
  @_spi(ExperimentalScheduling) @_spi(ExperimentalCustomExecutors) import _Concurrency

  /// The default executor of the process, which hands the waits for real time of explorations to their executors, and
  /// everything else to the previous default executor.
  ///
  /// In Swift 6.3, `Task.sleep` and the system's clocks ask an executor to wait: the default executor, unless the task's
  /// own can. The protocols are not yet public; the compiler and the platform are therefore named exactly, and
  /// `ScheduleExplorer.controlsRealTime` is the result of a test.
  final class DefaultExecutorWatch: TaskExecutor, SchedulingExecutor {
    /// Replaces the default executor at the first use, and remains.
    ///
    /// The runtime has no lock for its default executor, and expects the change at the start of a process. The first
    /// exploration is as early as a test can be; both executors live forever.
    static let isInstalled: Bool = {
      _ = (Factory.mainExecutor, Factory.defaultExecutor)
      _createExecutors(factory: Factory.self)
      return true
    }()

    private struct Factory: ExecutorFactory {
      static let mainExecutor = MainActor.executor
      static let defaultExecutor: any TaskExecutor = DefaultExecutorWatch(Task.defaultExecutor)
    }

    private let previous: any TaskExecutor

    private init(_ previous: any TaskExecutor) {
      self.previous = previous
    }

    func enqueue(_ job: consuming ExecutorJob) {
      previous.enqueue(job)
    }

    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      enqueue(job, at: clock.now.advanced(by: delay), tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      let remaining = clock.now.duration(to: instant) as? Duration
      if let remaining, let executor = GlobalExecutorWatch.shared.currentDriven {
        executor.sleep(UnownedJob(job), remaining: remaining)
      } else if let previous = previous as? any SchedulingExecutor {
        previous.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
      } else {
        preconditionFailure("the default executor of the process cannot wait")
      }
    }
  }
#else
  /// Without a runtime that lets executors wait, waits for real time stay with the runtime.
  enum DefaultExecutorWatch {
    static let isInstalled = false
  }
#endif
