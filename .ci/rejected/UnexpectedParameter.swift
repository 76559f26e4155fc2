// error: an InputlessProcedure must implement execute(). To implement execute(_:) instead, conform to Procedure
import ProcedureKit

struct Double: InputlessProcedure {
  func execute(_ number: Int) async throws -> Int { number * 2 }
}
