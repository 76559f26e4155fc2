import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitDurable
import ProcedureKitFoundation

/// A tool that makes pictures of kittens smaller. For its usage, run `kitten --help`.
@main
struct Kitten {
  static func main() async {
    Diagnostics.start()
    // If the program that reads the output exits, this process must not end in the middle of a file.
    signal(SIGPIPE, SIG_IGN)
    exit(await run(SystemText.commandLine))
  }

  /// Runs the program, and returns the exit status.
  private static func run(_ commandLine: some Sequence<SystemText>) async -> Int32 {
    let arguments: Arguments
    do throws(UsageError) {
      arguments = try Arguments(parsing: commandLine)
    } catch {
      Console.printError("\(error)")
      return 1
    }
    if arguments.action == .printHelp {
      Console.print(Arguments.help)
      return 0
    }

    let (sources, errors) = Source.find(arguments.inputs.isEmpty ? [SamplePhotograph.path] : arguments.inputs)
    let job = Thumbnails(sources: sources, sizes: arguments.sizes, output: OutputDirectory(arguments.output))
    var status: Int32 = 0
    if arguments.action == .printGraph, !sources.isEmpty {
      Console.print(job.graph.mermaid)
    } else if !sources.isEmpty {
      status = await perform(job, arguments)
    }
    for error in errors { Console.printError("\(error)") }
    return status == 0 && !errors.isEmpty ? 1 : status
  }

  private static func perform(_ job: Thumbnails, _ arguments: Arguments) async -> Int32 {
    var job = job
    let recorder: JobRecorder
    do {
      // Like the pictures, the journal is not flushed to the disk. After a power failure, the job has to start again.
      job.journal = try arguments.journal.map { try FileJournal(path: $0, flush: .never) }
      recorder = try JobRecorder(arguments.records)
    } catch {
      Console.printError("\(error)")
      return 1
    }
    for source in job.sources { source.renaming.map { Console.print($0) } }
    let start = ContinuousClock.now
    // The progress display does not show failures, since the report contains their reasons.
    let progress = TerminalProgress(on: .standardOutput, showsFailures: false)
    let signals = ProcessSignals(.interrupt, .terminate) { signal, count in
      if count > 1 { _exit(signal.exitStatus) }
      Console.eraseLine()
      Console.printError("stopping; press Ctrl-C again to quit immediately, which may leave an incomplete file")
    }
    let result: Result<(Report, times: [SystemText: Duration]), any Error>
    do {
      result = .success(
        try await signals.cancelling { [job] in try await job.run(jobs: arguments.jobs, recorder, progress) })
    } catch {
      result = .failure(error)
    }
    job.output.removeIfUnused()
    let status = printResult(result, of: job, since: start, signals.first)
    if status == 0, let journal = job.journal, let path = arguments.journal { await forget(in: journal, at: path) }
    let errors = await recorder.finish()
    for error in errors { Console.printError("\(error)") }
    return status == 0 && !errors.isEmpty ? 1 : status
  }

  /// Removes the steps of a finished job from the journal, and deletes the file unless it contains entries from another program.
  private static func forget(in journal: FileJournal, at path: SystemText) async {
    do {
      try await journal.compact { !$0.path.hasPrefix("\(Step.graph)/") }
      if await journal.entryCount == 0 { try SystemFiles.remove(path) }
    } catch {
      Console.printError("\(error)")
    }
  }

  /// Prints the result of the job.
  ///
  /// - Returns: The exit status.
  private static func printResult(
    _ result: Result<(Report, times: [SystemText: Duration]), any Error>, of job: Thumbnails,
    since start: ContinuousClock.Instant, _ signal: ProcessSignal?
  ) -> Int32 {
    switch result {
    case .success((let report, let times)):
      if !report.thumbnails.isEmpty { Console.print(report.table(times: times)) }
      Console.print(report.summary(directory: job.output.path, duration: ContinuousClock.now - start))
      for error in report.errors { Console.printError(error) }
      return report.errors.isEmpty ? 0 : 1
    case .failure(let error):
      guard let signal else {
        Console.printError("\(error)")
        return 1
      }
      Console.printError("interrupted; finished files are kept")
      return signal.exitStatus
    }
  }
}
