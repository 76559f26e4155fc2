import ProcedureKit
import ProcedureKitDiagnostics

/// One run of tasks: the graph on a queue, the watcher, and what is written about the run.
struct TaskRun: Sendable {
  let tasks: [TaskDefinition]
  let context: RunContext
  let arguments: Arguments

  /// Runs the tasks. When the calling task is cancelled, the commands are ended, and their ends awaited.
  ///
  /// - Returns: What has become of the tasks.
  func run(_ recorder: RunFiles) async -> RunSummary {
    let policy: ErrorPolicy = arguments.keepsGoing ? .continue : .failFast
    let graph = TaskGraph.running(tasks, context).errorPolicy(policy)
    let queue = ProcedureQueue("taskrunner", maxConcurrentProcedures: arguments.jobs)
    recorder.record(queue)
    // Elsewhere than on a terminal the watcher prints a line for each task.
    let progress = TerminalOutput.standardError.isLive ? TerminalProgress() : nil
    progress?.show(queue)
    let events = queue.events(bufferingNewest: .max)
    // Ends with the events, when the queue is shut down below.
    let watcher = Task { [tasks, context] in await RunWatcher.watch(events, tasks, context.outputs, progress) }
    // The watcher sees each failure. A cancel is left to the caller, who knows the signal.
    _ = try? await queue.run(graph)
    await queue.shutDown()
    let summary = await watcher.value
    await progress?.finish()
    return summary
  }
}
