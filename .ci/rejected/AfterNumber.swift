// error: candidate expects value of type 'ProcedureDependency' for parameter #2 (got 'Int')
import ProcedureKit

func add(to queue: ProcedureQueue) {
  queue.add(ProcedureTask("index") {}, after: 5)
}
