// error: return the node with the value of the graph
import ProcedureKit

let sum = ProcedureGraph("sum") { g in
  let one = g.add("one") { 1 }
  g.add("sum", from: one, one) { $0 + $1 }
}
