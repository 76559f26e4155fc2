import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitProcess

/// A run of tasks, which are executed as a graph on a queue. The run prints the output of the tasks.
struct TaskRun: Sendable {
  let tasks: [TaskDefinition]
  let context: RunContext
  let arguments: Arguments

  /// Runs the tasks. If the calling task is cancelled, the function terminates the commands and waits for them to exit.
  ///
  /// - Returns: The results of the tasks.
  func run(_ recorder: RunFiles) async -> RunSummary {
    let policy: FailurePolicy = arguments.keepsGoing ? .collect : .failFast
    let graph = TaskGraph.running(tasks, context).onFailure(policy)
    var configuration = ProcedureQueue.Configuration("taskrunner", maxConcurrentProcedures: arguments.jobs)
    // If there are not enough descriptors for the executor, the first command fails with the corresponding error.
    configuration.executor = try? EventLoopExecutor.shared
    let queue = ProcedureQueue(configuration)
    recorder.record(queue)
    // If the output is not a terminal, the watcher prints a line for each task.
    let progress = TerminalOutput.standardError.isLive ? TerminalProgress(showsFailures: false) : nil
    progress?.show(queue)
    let events = queue.events(bufferingNewest: .max)
    // The watcher ends with the events, when the queue is shut down below. It uses the executor of the commands, since another thread would
    // have to be woken for each event.
    let watcher = Task(executorPreference: configuration.executor) {
      await RunWatcher.watch(events, of: self, progress)
    }
    // The watcher receives each failure. The caller, which has received the signal, handles cancellation.
    _ = try? await queue.run(graph)
    await queue.shutDown()
    let summary = await watcher.value
    await progress?.finish()
    return summary
  }
}
