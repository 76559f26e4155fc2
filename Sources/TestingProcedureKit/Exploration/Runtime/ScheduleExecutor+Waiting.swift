#if os(Linux) && compiler(>=6.3) && compiler(<6.4)
  @_spi(ExperimentalScheduling) import _Concurrency

  // In Swift 6.3, `Task.sleep` and the system's clocks pass each wait to an executor, which is an actor's own executor, the task's
  // preferred executor, or the executor that is running the task. Only code that the runtime started without an executor, as in
  // `Task.immediate`, uses the default executor of the process. The default executor is not replaced, because other threads may be using
  // it, and the runtime does not synchronize access to it. The protocol is not public yet, so this code is compiled only for certain
  // versions of the compiler and certain platforms, and it is checked at run time; see `ScheduleExplorer.controlsRealTime`.

  extension ScheduleExecutor: SchedulingExecutor {
    /// Delays `job` in virtual time.
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      sleep(UnownedJob(job), for: delay as? Duration ?? .zero)
    }

    /// Delays `job` in virtual time. The durations of waits on clocks other than the system's are unknown, so such waits end immediately.
    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      let remaining = clock.now.duration(to: instant) as? Duration
      sleep(UnownedJob(job), remaining: remaining ?? .zero)
    }
  }

  extension ScheduleMainActor: SchedulingExecutor {
    func enqueue<C: Clock>(
      _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
      executor?.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
    }

    /// Delays `job` in virtual time. The job only ends a wait, so it does not have to run on the main actor. A wait that begins after the
    /// schedule has ended is abandoned.
    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
      executor?.enqueue(job, at: instant, tolerance: tolerance, clock: clock)
    }
  }
#endif
