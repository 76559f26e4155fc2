// error: return the node with the value; a graph without a value has the parameter returning: Void.self
import ProcedureKit

let double = ProcedureGraph("double") { (g, number: Node<Int>) in
  let same = g.add("same", from: number) { $0 }
  g.add("double", from: same) { $0 * 2 }
}
