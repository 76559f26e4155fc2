import ProcedureKit

/// Ensures that there is an output directory before anything is computed.
///
/// The directory as a value is not `Codable`, so the step is executed again when a job is continued.
struct PrepareDirectory: InputlessProcedure {
  var directory: OutputDirectory

  func execute() async throws -> OutputDirectory {
    try directory.create()
    return directory
  }
}
