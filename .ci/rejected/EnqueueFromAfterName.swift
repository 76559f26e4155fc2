// error: candidate expects value of type 'ProcedureDependency' for parameter #3 (got 'String')
import ProcedureKit

func enqueue(on queue: ProcedureQueue, from handle: ProcedureHandle<Int>) async throws {
  try await queue.enqueue(ProcedureTask("print") { (_: Int) in }, from: handle, after: "download")
}
