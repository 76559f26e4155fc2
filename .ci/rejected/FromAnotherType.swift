// error: requires the types '(_: String)' and '(_: Int)' be equivalent
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("print") { (_: String) in }, from: handle)
}
