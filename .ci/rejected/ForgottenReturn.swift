// error: return the node with the value; a graph without a value has the parameter returning: Void.self
import ProcedureKit

let sum = ProcedureGraph("sum") { g in
  let one = g.add("one") { 1 }
  g.add("sum", from: one, one) { $0 + $1 }
}
