import ProcedureKit

/// The files that describe a job, as requested by `--trace`, `--timeline` and `--report`.
struct RecordFiles: Equatable, Sendable {
  /// A trace for Perfetto. It is written while the job is executing.
  var trace: SystemText?

  /// A timeline, as an SVG picture.
  var timeline: SystemText?

  /// A report, which is an HTML page if the name ends in `.html`, and text otherwise. The name `-` means standard output.
  var report: SystemText?
}
