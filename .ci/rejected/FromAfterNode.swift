// error: candidate expects value of type 'ProcedureDependency' for parameter #3 (got 'Node<Int>')
import ProcedureKit

func add(to queue: ProcedureQueue, from handle: ProcedureHandle<Int>, after node: Node<Int>) {
  queue.add(ProcedureTask("print") { (_: Int) in }, from: handle, after: node)
}
