// error: candidate expects value of type 'GraphDependency' for parameter #3 (got 'Int')
import ProcedureKit

let graph = ProcedureGraph("graph") { g in
  g.add("index", after: 5) {}
}
