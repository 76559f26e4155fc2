// error: return the node that has the graph's value, or pass returning: Void.self if the graph has no value
import ProcedureKit

let sum = ProcedureGraph("sum") { g in
  let one = g.add("one") { 1 }
  g.add("sum", from: one, one) { $0 + $1 }
}
