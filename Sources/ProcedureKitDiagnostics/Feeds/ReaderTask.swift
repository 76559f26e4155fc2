/// A namespace for the function that starts this module's unstructured tasks.
enum ReaderTask {
  /// Starts a task that can outlive the caller. A task that reads a feed ends when the feed's queue ends, or when the feed is stopped. A
  /// task that completes a recording ends with the recording. A task that draws on a terminal is cancelled when drawing ends.
  static func start(
    priority: TaskPriority? = nil, _ operation: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    Task(priority: priority) { await operation() }
  }
}
