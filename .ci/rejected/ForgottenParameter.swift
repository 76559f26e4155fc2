// error: a Procedure has execute(_ input:); a type with execute() and without an input is an InputlessProcedure
import ProcedureKit

struct CleanUp: Procedure {
  func execute() async throws {}
}
