// error: candidate expects value of type 'GraphDependency' for parameter #3 (got 'ProcedureHandle<Int>')
import ProcedureKit

func graph(after handle: ProcedureHandle<Int>) -> ProcedureGraph<Int, Void> {
  ProcedureGraph("graph") { g, input in
    g.add(ProcedureTask("print") { (_: Int) in }, from: input, after: handle)
  }
}
