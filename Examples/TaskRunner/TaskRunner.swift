import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitFoundation

/// A tool that runs the tasks in a file. For its usage, run `taskrunner --help`.
@main
struct TaskRunner {
  static func main() {
    // This process must not end if the program that reads its output exits.
    signal(SIGPIPE, SIG_IGN)
    Diagnostics.start()
    // The task ends the process. The main thread does not wait in Dispatch, because the signal that is raised when a command ends would
    // wake it there.
    Task.detached { exit(await run(SystemText.commandLine)) }
    while true { pause() }
  }

  /// Runs the program, and returns the exit status.
  private static func run(_ commandLine: some Sequence<SystemText>) async -> Int32 {
    do {
      let arguments = try Arguments(parsing: commandLine)
      if arguments.action == .printHelp {
        Console.print(Arguments.help)
        return 0
      }
      let file = try TaskFile(arguments.file)
      let known = arguments.names.isEmpty ? [] : Set(file.tasks.map(\.name.value))
      for name in arguments.names where !known.contains(name) {
        throw UsageError(description: "\(arguments.file) has no task \"\(name)\"")
      }
      let tasks = arguments.names.isEmpty ? file.tasks : TaskOrder.chosen(arguments.names, of: file.tasks)
      return await perform(arguments, tasks, TaskRecords(of: file))
    } catch let error as TaskFileError {
      // The message does not start with the name of this program, so that editors recognize the positions.
      Console.printError(error.description, prefix: "")
      return 2
    } catch {
      Console.printError("\(error)")
      return 2
    }
  }

  private static func perform(
    _ arguments: Arguments, _ tasks: [TaskDefinition], _ records: TaskRecords
  ) async -> Int32 {
    do {
      switch arguments.action {
      case .printGraph:
        Console.print(TaskGraph.mermaid(tasks))
        return 0
      case .printPlan:
        let outputs = try await TaskGraph.dry(tasks, records)()
        let stale = tasks.filter { outputs[$0.name.value] == .some(nil) }
        for task in stale { Console.print(task.name.value.description) }
        Console.print("\(stale.count) to run, \(tasks.count - stale.count) up to date")
        return 0
      default: return try await runTasks(arguments, tasks, records)
      }
    } catch {
      Console.printError("\(error)")
      return 1
    }
  }

  private static func runTasks(
    _ arguments: Arguments, _ tasks: [TaskDefinition], _ records: TaskRecords
  ) async throws -> Int32 {
    let lock = try RunnerLock(records)
    defer { lock.release() }
    try records.open()
    if lock.endedCount > 0 { Console.print("killed leftover processes from an earlier run: \(lock.endedCount)") }
    let files = try RunFiles(arguments, taskCount: tasks.count)
    let run = TaskRun(tasks: tasks, context: RunContext(records, mark: lock.mark), arguments: arguments)
    let start = ContinuousClock.now
    // Before this line, a signal ends the process.
    let signals = ProcessSignals(.interrupt, .terminate, .hangUp) { signal, count in
      if count > 1 {
        run.context.kill()
        lock.endCommands()
        _exit(signal.exitStatus)
      }
      Console.printError("stopping; press Ctrl-C again to kill the running commands")
    }
    let summary = await signals.cancelling { await run.run(files) }
    Console.print(summary.text(ContinuousClock.now - start))
    try await files.finish()
    return signals.first?.exitStatus ?? summary.status
  }
}
