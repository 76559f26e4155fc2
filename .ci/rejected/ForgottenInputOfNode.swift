// error: the procedure has an input: pass it with input:, or the node that provides it with from:
import ProcedureKit

let graph = ProcedureGraph("graph") { g in
  g.add(ProcedureTask("double") { (number: Int) in number * 2 })
}
