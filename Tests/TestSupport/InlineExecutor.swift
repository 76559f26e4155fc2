/// An executor that executes each job immediately, on the thread that enqueues it. A task that a call resumes continues before the call
/// returns.
package final class InlineExecutor: TaskExecutor {
  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}
