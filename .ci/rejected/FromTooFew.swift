// error: cannot convert value of type 'ProcedureHandle<Int>' to expected argument type 'ProcedureHandle<(Int, Int)>'
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>) {
  queue.add(ProcedureTask("sum") { (_: (Int, Int)) in }, from: handle)
}
