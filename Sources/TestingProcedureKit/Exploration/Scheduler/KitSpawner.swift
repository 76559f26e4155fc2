/// The only creator of tasks in the testing kit.
enum KitSpawner {
  /// Starts an exploration on its own thread, with the caller's task-local values. The caller waits for the end, and
  /// cancels the task if the caller is cancelled.
  static func startExploration(on crew: Crew, _ work: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    Task(executorPreference: crew) { work() }
  }

  /// Starts a task that suspends once, for looking at its jobs. The caller runs the task to its end.
  static func startProbe(on executor: some TaskExecutor) {
    Task(executorPreference: executor) { await Task.yield() }
  }

  /// Starts a task that sleeps, for looking at its jobs. The caller runs the task to its end; a wait for real time ends
  /// by itself.
  static func startSleeper(on executor: some TaskExecutor) {
    Task(executorPreference: executor) { try await Task.sleep(for: .milliseconds(1)) }
  }

  /// Starts the body of a schedule with the caller's task-local values. Only the explorer waits for the body.
  static func startBody(
    on executor: ScheduleExecutor, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor, priority: .medium) { await body() }
  }

  /// Starts a task that reads `stream`, up to the end of the stream or until `read` returns `false`.
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

  /// Starts a task of the global executor that runs the jobs of another executor. The task ends by itself, and nobody
  /// cancels it.
  static func startDriver(_ runJobs: @escaping @Sendable () -> Void) {
    Task.detached { runJobs() }
  }

  /// Waits for `operation`, and cancels `operation` after the real time `limit`. Cancelling the caller cancels
  /// `operation`.
  static func wait(atMost limit: Duration, for operation: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await operation() }
      group.addTask { try? await Task.sleep(for: limit) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Runs `operation` in its own task, for at most the real time `limit`.
  ///
  /// An operation that exceeds the limit is cancelled and not awaited, since its wait may never end. Cancelling the
  /// caller has the same effect at once.
  ///
  /// - Returns: Whether `operation` ended in time.
  /// - Throws: The error of `operation`; `CancellationError` if the caller is cancelled.
  static func run(atMost limit: Duration, _ operation: @escaping @Sendable () async throws -> Void) async throws -> Bool
  {
    let gate = Gate<Bool>()
    let work = Task {
      do {
        try await operation()
        gate.say(.success(true))
      } catch {
        gate.say(.failure(error))
      }
    }
    let alarm = Task {
      try await Task.sleep(for: limit)
      gate.say(.success(false))
    }
    defer {
      work.cancel()
      alarm.cancel()
    }
    return try await gate.word(ignoringCancellation: false)
  }

  /// Runs `operation` in a child task, concurrently with `body`, which can cancel the child.
  ///
  /// - Returns: The result of `operation`.
  /// - Throws: The error of `body`, which cancels the child.
  static func withChild<R: Sendable>(
    _ operation: @escaping @Sendable () async throws -> R, while body: (_ cancel: () -> Void) async throws -> Void
  ) async throws -> Result<R, any Error> {
    try await withThrowingTaskGroup(of: R.self) { group in
      group.addTask { try await operation() }
      try await body { group.cancelAll() }
      return await group.nextResult() ?? .failure(CancellationError())
    }
  }
}
