// error: the procedure has an input: pass it with input:, or use from: to pass the handle that provides it
import ProcedureKit

func add(to queue: ProcedureQueue, after handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("double") { (_: Int) in }, after: handle)
}
