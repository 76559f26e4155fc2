// error: the limit belongs to the graph
import ProcedureKit

let graph = ProcedureGraph("graph") { g in g.add("one") { 1 } }
let impatient = graph.timeout(.seconds(5)).maxConcurrentNodes(2)
