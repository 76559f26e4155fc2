import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitFoundation

/// A recorder that writes the files that `--trace` and `--report` request.
struct RunFiles: Sendable {
  private let trace: TraceRecorder?
  private let runs: RunRecorder?
  private let report: SystemText?

  /// Creates the file for the trace. If it cannot be written, the run does not start.
  ///
  /// - Throws: `TraceError` if the trace cannot be written.
  init(_ arguments: Arguments, taskCount: Int) throws {
    trace = try arguments.trace.map { try TraceRecorder(path: $0) }
    report = arguments.report
    runs = report.map { _ in RunRecorder(limit: taskCount + 10) }
  }

  /// Starts recording a queue.
  func record(_ queue: ProcedureQueue) {
    trace?.record(queue)
    runs?.record(queue)
  }

  /// Writes the files, even if the run failed or was interrupted.
  func finish() async throws {
    try await trace?.finish()
    guard let report, let runs else { return }
    let text = RunReport(await runs.finish())
    if report == "-" {
      Console.print(text.text, terminator: "")
    } else {
      let contents = report.description.hasSuffix(".html") ? text.html : text.text
      do {
        let partial = try SystemFiles.makePartial(beside: report, prefix: ".taskrunner-", mode: 0o666)
        defer { close(partial.descriptor) }
        do {
          try SystemFiles.write(contents.utf8, to: partial.descriptor)
          try SystemFiles.rename(partial.path, to: report)
        } catch {
          try? SystemFiles.remove(partial.path)
          throw error
        }
      } catch let error as POSIXError {
        throw TaskProblem.unwritable(report, error.code.rawValue)
      }
    }
  }
}
