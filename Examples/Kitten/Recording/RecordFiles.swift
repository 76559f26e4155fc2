import ProcedureKit

/// The files that describe the job afterwards: `--trace`, `--timeline`, `--report`.
struct RecordFiles: Equatable, Sendable {
  /// A trace for Perfetto, written while the job executes.
  var trace: SystemText?

  /// A picture, as SVG.
  var timeline: SystemText?

  /// A report: a page if the name ends in `.html`, otherwise text; `-` is standard output.
  var report: SystemText?
}
