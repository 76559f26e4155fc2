import ProcedureKit

/// Makes sure that there is a directory to write to, before anything is computed in vain.
///
/// The directory as a value is not `Codable`: the step is executed again when a job is continued.
struct PrepareDirectory: InputlessProcedure {
  var directory: OutputDirectory

  func execute() async throws -> OutputDirectory {
    try directory.create()
    return directory
  }
}
