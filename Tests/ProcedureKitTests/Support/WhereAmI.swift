import Dispatch

private let mainQueueKey = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()

/// Returns whether the current code executes on the main queue, and therefore on the main actor.
func isOnMainActor() -> Bool {
  DispatchQueue.getSpecific(key: mainQueueKey) ?? false
}

/// A task executor that knows its own jobs.
final class CountingExecutor: TaskExecutor {
  private static let key = DispatchSpecificKey<Bool>()
  private let queue = DispatchQueue(label: "CountingExecutor", attributes: .concurrent)

  init() { queue.setSpecific(key: Self.key, value: true) }

  /// Whether the current code executes on an executor of this type.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
