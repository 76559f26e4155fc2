// error: a Procedure must implement execute(_:). To implement execute() instead, conform to InputlessProcedure
import ProcedureKit

struct CleanUp: Procedure {
  func execute() async throws {}
}
