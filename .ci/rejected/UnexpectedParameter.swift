// error: an InputlessProcedure has execute() without a parameter; a type with an input is a Procedure
import ProcedureKit

struct Double: InputlessProcedure {
  func execute(_ number: Int) async throws -> Int { number * 2 }
}
