// error: candidate expects value of type 'ProcedureDependency' for parameter #3 (got 'Int')
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("print") { (_: Int) in }, from: handle, after: 5)
}
