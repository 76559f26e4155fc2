/// The one place of the testing kit that creates tasks.
enum KitSpawner {
  /// Starts the body of a schedule. It has the caller's task locals; nobody waits for it but the explorer.
  static func startBody(
    on executor: ScheduleExecutor, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(executorPreference: executor, priority: .medium) { await body() }
  }

  /// Starts what reads a stream. It ends with the stream, or when `read` says so.
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

  /// Waits for `operation`, at most for the real time `limit`, and cancels it then. Cancelling the caller cancels it.
  static func wait(atMost limit: Duration, for operation: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await operation() }
      group.addTask { try? await Task.sleep(for: limit) }
      await group.next()
      group.cancelAll()
    }
  }

  /// Runs `operation` in a task of its own, at most for the real time `limit`; says whether it has ended in time.
  ///
  /// One that has not is cancelled and left behind: it may be waiting for what never comes. Cancelling the caller does
  /// the same at once.
  ///
  /// - Throws: What `operation` throws; `CancellationError` if the caller is cancelled.
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

  /// Runs `operation` in a child task while `body` goes on, which is given the means to cancel it.
  ///
  /// - Returns: What became of `operation`.
  /// - Throws: What `body` throws; the child is cancelled then.
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
