// error: cannot convert value of type 'Node<Int>' to expected argument type 'Node<String>'
import ProcedureKit

let graph = ProcedureGraph("graph") { g in
  let one = g.add("one") { 1 }
  g.add(ProcedureTask("print") { (_: String) in }, from: one)
}
