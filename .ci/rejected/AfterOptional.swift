// error: value of optional type 'ProcedureHandle<Int>?' must be unwrapped
import ProcedureKit

func add(to queue: ProcedureQueue, after handle: ProcedureHandle<Int>?) {
  queue.add(ProcedureTask("index") {}, after: handle)
}
