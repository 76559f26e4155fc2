// error: cannot convert value of type 'String' to expected element type 'any ProcedureDependency'
import ProcedureKit

func add(to queue: ProcedureQueue) {
  queue.add(ProcedureTask("index") {}, after: ["download"])
}
