// error: the procedure has an input: pass it with input:
import ProcedureKit

func run(on queue: ProcedureQueue) async throws {
  try await queue.run(ProcedureTask("double") { (_: Int) in })
}
