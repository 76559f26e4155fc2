/// A namespace for the function that starts this module's unstructured tasks.
enum ReaderTask {
  /// Starts a task that can outlive the caller. A task that reads a feed ends when the feed's queue ends, or when the feed is stopped. A
  /// task that completes a trace ends when the trace is complete. A task that draws on a terminal is cancelled when drawing ends. A task
  /// that makes an ``ActivityCounter`` idle ends after a delay, or is cancelled when work begins.
  static func start(
    priority: TaskPriority? = nil, _ operation: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(priority: priority) { await operation() }
  }
}
