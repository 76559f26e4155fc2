import ProcedureKit

/// Makes sure that there is a directory to write to, before anything is computed in vain.
struct PrepareDirectory: InputlessProcedure {
  var directory: OutputDirectory

  func execute() async throws {
    try directory.create()
  }
}
