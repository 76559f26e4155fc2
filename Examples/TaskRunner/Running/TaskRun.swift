import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitProcess

/// One run of tasks: the graph on a queue, the watcher, and the output of the run.
struct TaskRun: Sendable {
  let tasks: [TaskDefinition]
  let context: RunContext
  let arguments: Arguments

  /// Runs the tasks. When the calling task is cancelled, the commands are ended and awaited.
  ///
  /// - Returns: The results of the tasks.
  func run(_ recorder: RunFiles) async -> RunSummary {
    let policy: FailurePolicy = arguments.keepsGoing ? .collect : .failFast
    let graph = TaskGraph.running(tasks, context).onFailure(policy)
    var configuration = ProcedureQueue.Configuration("taskrunner", maxConcurrentProcedures: arguments.jobs)
    // If there are no descriptors for the executor, the first command fails with that error.
    configuration.executor = try? EventLoopExecutor.shared
    let queue = ProcedureQueue(configuration)
    recorder.record(queue)
    // If the output is not a terminal, the watcher prints a line for each task.
    let progress = TerminalOutput.standardError.isLive ? TerminalProgress(showsFailures: false) : nil
    progress?.show(queue)
    let events = queue.events(bufferingNewest: .max)
    // Ends with the events, when the queue is shut down below. On the executor of the commands, since another thread would be woken for each event.
    let watcher = Task(executorPreference: configuration.executor) {
      await RunWatcher.watch(events, of: self, progress)
    }
    // The watcher sees each failure. The caller, which knows the signal, handles cancellation.
    _ = try? await queue.run(graph)
    await queue.shutDown()
    let summary = await watcher.value
    await progress?.finish()
    return summary
  }
}
