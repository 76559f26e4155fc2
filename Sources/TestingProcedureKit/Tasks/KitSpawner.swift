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
    of stream: AsyncStream<Element>, on executor: (any TaskExecutor)?,
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
}
