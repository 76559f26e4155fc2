// error: the procedure has an input: pass it with input:, or the handle that provides it with from:
import ProcedureKit

func add(to queue: ProcedureQueue) {
  queue.add(ProcedureTask("double") { (_: Int) in })
}
