// error: requires the types '(Int, Int)' and '(_: Int)' be equivalent
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("sum") { (_: (Int, Int)) in }, from: handle)
}
