// error: candidate expects value of type 'ProcedureDependency' for parameter #2 (got 'Int')
import ProcedureKit

func enqueue(on queue: ProcedureQueue) async throws {
  try await queue.enqueue(ProcedureTask("index") {}, after: 5)
}
