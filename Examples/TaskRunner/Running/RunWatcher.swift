import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitProcess

/// A watcher that consumes the events of the queue, reports the progress of the tasks, and counts the results.
struct RunWatcher {
  private var summary = RunSummary()
  private let outputs: CommandOutputs
  private let isVerbose: Bool
  /// The progress display, through which all output is written; `nil` if the output is not a terminal.
  private let progress: TerminalProgress?
  private var starts: [ProcedureID: ProcedureInstant] = [:]
  private var reused: Set<ProcedureID> = []

  private init(_ run: TaskRun, _ progress: TerminalProgress?) {
    summary.taskCount = run.tasks.count
    (outputs, isVerbose, self.progress) = (run.context.outputs, run.arguments.isVerbose, progress)
  }

  /// Consumes events until the queue is shut down.
  static func watch(
    _ events: AsyncStream<ProcedureEvent>, of run: TaskRun, _ progress: TerminalProgress?
  ) async -> RunSummary {
    var watcher = RunWatcher(run, progress)
    for await event in events where event.graph != nil { watcher.take(event) }
    return watcher.summary
  }

  private mutating func take(_ event: ProcedureEvent) {
    switch event.step {
    case .willExecute: starts[event.id] = event.instant
    case .reused: reused.insert(event.id)
    case .retrying(let attempt, let delay, let error):
      say("\(event.name): attempt \(attempt): \(Self.reason(error)), retrying in \(delay.inSeconds)")
    case .didFinish: finished(event)
    default: break
    }
  }

  private mutating func finished(_ event: ProcedureEvent) {
    let start = starts.removeValue(forKey: event.id)
    switch event.outcome {
    case .finished where reused.contains(event.id): summary.upToDateCount += 1
    case .finished:
      summary.doneCount += 1
      let output = outputs.take(SystemText(event.name))
      let duration = start.map { "  " + $0.duration(to: event.instant).inSeconds } ?? ""
      if progress == nil { Console.print("[\(position)/\(summary.taskCount)] \(event.name)\(duration)") }
      // On a terminal, no line above this one contains the name of the task.
      if isVerbose, !output.isEmpty { say(progress == nil ? "" : "\(event.name):\n", output: output) }
    case .failed(let error) where (error as? ProcedureError)?.kind != .dependencyFailed:
      summary.failedCount += 1
      summary.failure = summary.failure ?? error
      let output = outputs.take(SystemText(event.name))
      let text = "\(event.name): \(Self.reason(error))" + (output.isEmpty ? "" : "\n")
      if let progress { progress.print(text + output) } else { Console.printError(text, output: output) }
    default: break
    }
  }

  private func say(_ text: String, output: String = "") {
    if let progress { progress.print(text + output) } else { Console.print(text, output: output) }
  }

  private var position: Int { summary.doneCount + summary.upToDateCount + summary.failedCount }

  /// Returns the reason for a failure, without the name of the task, which is printed before the reason.
  private static func reason(_ error: any Error) -> String {
    if let error = error as? ProcessError, let result = error.result { return "\(result.status)" }
    guard let error = error as? ProcedureError, error.kind == .timedOut else { return "\(error)" }
    return "timed out" + (error.duration.map { " after \($0.inSeconds)" } ?? "")
  }
}
