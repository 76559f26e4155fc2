// error: candidate expects value of type 'ProcedureDependency' for parameter #2 (got 'Node<Int>')
import ProcedureKit

func add(to queue: ProcedureQueue, after node: Node<Int>) {
  queue.add(ProcedureTask("index") {}, after: node)
}
