import ProcedureKit

/// A procedure that ensures that the output directory exists before anything is computed.
///
/// The output of this step is not `Codable`, so the step is executed again when a job is continued.
struct PrepareDirectory: InputlessProcedure {
  var directory: OutputDirectory

  func execute() async throws -> OutputDirectory {
    try directory.create()
    return directory
  }
}
