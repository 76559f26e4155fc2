import Foundation
import ProcedureKit
import ProcedureKitDiagnostics

/// Writes what `--trace` and `--report` ask for.
struct RunFiles: Sendable {
  private let trace: TraceRecorder?
  private let runs: RunRecorder?
  private let report: String?

  /// Creates the file of the trace: a file that cannot be written stops the run before it begins.
  ///
  /// - Throws: `TraceError`.
  init(_ arguments: Arguments, taskCount: Int) throws {
    trace = try arguments.trace.map { try TraceRecorder(file: URL(filePath: $0)) }
    report = arguments.report
    runs = report.map { _ in RunRecorder(limit: taskCount + 10) }
  }

  /// Records a queue from now on.
  func record(_ queue: ProcedureQueue) {
    trace?.record(queue)
    runs?.record(queue)
  }

  /// Writes the files; those of a run that failed or was interrupted, too.
  func finish() async throws {
    try await trace?.finish()
    guard let report, let runs else { return }
    let text = RunReport(await runs.finish())
    if report == "-" {
      Console.print(text.text, terminator: "")
    } else {
      let contents = report.hasSuffix(".html") ? text.html : text.text
      do {
        try Data(contents.utf8).write(to: URL(filePath: report), options: .atomic)
      } catch {
        throw TaskProblem.unwritable(report, ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue ?? EIO)
      }
    }
  }
}
