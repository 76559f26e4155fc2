import Dispatch

/// A task executor that knows its own jobs.
final class DispatchTaskExecutor: TaskExecutor {
  private static let key = DispatchSpecificKey<Bool>()
  private let queue = DispatchQueue(label: "DispatchTaskExecutor", attributes: .concurrent)

  init() { queue.setSpecific(key: Self.key, value: true) }

  /// Whether the current code executes on such an executor.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
