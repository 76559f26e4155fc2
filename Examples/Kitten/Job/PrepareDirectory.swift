import ProcedureKit

/// Makes sure that there is a directory to write to, before anything is computed in vain.
struct PrepareDirectory: Procedure {
  var directory: OutputDirectory

  func execute(_: Void) async throws {
    try directory.create()
  }
}
