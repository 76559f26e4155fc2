// error: cannot convert value of type 'ProcedureHandle<Int>' to expected argument type 'ProcedureHandle<String>'
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("print") { (_: String) in }, from: handle)
}
