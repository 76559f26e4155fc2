/// The functions that create all unstructured tasks of `TestingProcedureKit`.
enum KitSpawner {
  /// Starts a task that runs an exploration on a thread of `pool`, with the caller's task-local values. The caller waits for this task, and
  /// cancels it if the caller itself is cancelled.
  static func startExploration(on pool: ThreadPool, _ work: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    Task(executorPreference: pool) { work() }
  }

  /// Starts a task that suspends once, so that its jobs can be inspected. The caller runs the task to completion.
  static func startProbe(on executor: some TaskExecutor) {
    Task(executorPreference: executor) { await Task.yield() }
  }

  /// Starts a task that calls an actor, so that its jobs can be inspected. The caller runs the task to completion.
  static func startVisitor(on executor: some TaskExecutor, _ visit: @escaping @Sendable () async -> Void) {
    Task(executorPreference: executor) { await visit() }
  }

  /// Starts a task that sleeps, so that its jobs can be inspected. The caller runs the task to completion. If the task waits in real time,
  /// it ends even if the caller does not run it.
  static func startSleeper(on executor: some TaskExecutor) {
    Task(executorPreference: executor) { try await Task.sleep(for: .milliseconds(1)) }
  }

  /// Starts the body of a schedule with the caller's task-local values. Only the explorer awaits the body.
  static func startBody(
    on executor: ScheduleExecutor, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor, priority: .medium) { await body() }
  }

  /// Starts a task that reads `stream` until the stream ends or `read` returns `false`.
  static func startReader<Element: Sendable>(
    of stream: some AsyncSequence<Element, Never> & Sendable, on executor: (any TaskExecutor)?,
    read: @escaping @Sendable (Element?) -> Bool
  ) {
    Task(executorPreference: executor) {
      for await element in stream {
        guard read(element) else { return }
      }
      _ = read(nil)
    }
  }

  /// Starts a task that runs the jobs of another executor on the global executor. The task ends when `runJobs` returns, and is never
  /// cancelled.
  static func startDriver(_ runJobs: @escaping @Sendable () -> Void) {
    Task.detached { runJobs() }
  }
}
