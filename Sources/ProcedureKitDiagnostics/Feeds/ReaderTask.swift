/// Starts the unstructured tasks of this module.
enum ReaderTask {
  /// Starts a task that outlives the caller: one that reads a feed ends with the queue of the feed, or when the feed is
  /// stopped; one that completes a recording ends with it.
  static func start(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task { await operation() }
  }
}
