// error: candidate expects value of type 'ProcedureDependency' for parameter #2 (got 'String')
import ProcedureKit

func add(to queue: ProcedureQueue) {
  _ = queue.tryAdd(ProcedureTask("index") {}, after: "download")
}
