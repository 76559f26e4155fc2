/// Executes each job at once, in the thread that enqueues it: what a call resumes continues before the call returns.
final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}
