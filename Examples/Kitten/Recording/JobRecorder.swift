import Foundation
import ProcedureKit
import ProcedureKitDiagnostics
import ProcedureKitFoundation

/// A recorder that observes a job's queue, and writes the files that the command line requests.
struct JobRecorder: Sendable {
  private let files: RecordFiles
  private let trace: TraceRecorder?
  private let runs: RunRecorder?

  /// Creates a recorder and the file for the trace. If the file cannot be written, the job does not start.
  ///
  /// - Throws: `TraceError` if the trace cannot be written.
  init(_ files: RecordFiles) throws {
    self.files = files
    trace = try files.trace.map { try TraceRecorder(path: $0) }
    runs = files.timeline == nil && files.report == nil ? nil : RunRecorder()
  }

  /// Starts recording a queue.
  func record(_ queue: ProcedureQueue) {
    trace?.record(queue)
    runs?.record(queue)
  }

  /// Writes the files, even if the job failed or was cancelled.
  ///
  /// - Returns: An error for each file that could not be written.
  func finish() async -> [any Error] {
    var errors: [any Error] = []
    do {
      try await trace?.finish()
    } catch {
      errors.append(error)
    }
    guard let recording = await runs?.finish() else { return errors }
    if let timeline = files.timeline {
      write(Timeline(recording).svg, to: timeline, &errors)
    }
    if let path = files.report {
      let report = RunReport(recording)
      if path == "-" {
        Console.print(report.text, terminator: "")
      } else {
        write(path.description.hasSuffix(".html") ? report.html : report.text, to: path, &errors)
      }
    }
    return errors
  }

  private func write(_ text: String, to path: SystemText, _ errors: inout [any Error]) {
    do {
      try AtomicFile.write(Array(text.utf8), to: path)
    } catch {
      errors.append(error)
    }
  }
}
