import ProcedureKit

/// The names of the steps, which identify them in events and errors.
enum Step {
  static let graph = "thumbnails"
  static let prepare = "prepare the output directory"
  static let report = "report"

  static func load(_ source: Source) -> String { "load \(source.stem)" }
  static func resize(_ fileName: SystemText) -> String { "resize \(fileName)" }
  static func write(_ fileName: SystemText) -> String { "write \(fileName)" }
}
