import Synchronization

/// Internal. One piece of work that can be cancelled without the task that waits for it, because it is executed by a child
/// of that task.
final class CancellableWork<Result: Sendable>: Sendable {
  private let desk = CrewDesk()
  private let stored = Mutex(Result?.none)

  /// Executes the work, once. Cancelling the caller cancels it, as ``cancel()`` does.
  @discardableResult
  func execute(_ operation: @escaping @Sendable () async -> Result) async -> Result {
    desk.place(
      .add(priority: nil) { [self] in
        let result = await operation()
        stored.withLock { $0 = result }
        desk.close()
      })
    await Spawner.runCrew(at: desk)
    return result
  }

  /// What it came to, once it has been executed.
  var result: Result {
    guard let result = stored.withLock({ $0 }) else { preconditionFailure("CancellableWork: nothing was executed") }
    return result
  }

  /// Cancels the work, also if it starts only later. It may still come to something.
  func cancel() {
    desk.place(.cancelAll)
  }
}
