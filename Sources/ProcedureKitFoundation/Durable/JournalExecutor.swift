internal import Dispatch

/// Internal. Executes a journal on a thread of its own: a flush to the disk takes milliseconds, and must not block a thread of the tasks.
final class JournalExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "ProcedureKit journal")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Returns when everything that has been enqueued before has executed. Cancelling the caller has no effect.
  func pass() async {
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
  }
}
