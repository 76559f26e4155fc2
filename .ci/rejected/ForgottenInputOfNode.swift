// error: the procedure has an input: pass it with input:, or use from: to pass the node that provides it
import ProcedureKit

let graph = ProcedureGraph("graph") { g in
  g.add(ProcedureTask("double") { (number: Int) in number * 2 })
}
