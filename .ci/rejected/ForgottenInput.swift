// error: requires the types 'Int' and '()' be equivalent
import ProcedureKit

func add(to queue: ProcedureQueue) {
  queue.add(ProcedureTask("double") { (_: Int) in })
}
