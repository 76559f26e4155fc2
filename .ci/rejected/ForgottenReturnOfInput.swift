// error: return the node that has the graph's value, or pass returning: Void.self if the graph has no value
import ProcedureKit

let double = ProcedureGraph("double") { (g, number: Node<Int>) in
  let same = g.add("same", from: number) { $0 }
  g.add("double", from: same) { $0 * 2 }
}
