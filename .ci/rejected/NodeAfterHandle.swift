// error: candidate expects value of type 'GraphDependency' for parameter #2 (got 'ProcedureHandle<Int>')
import ProcedureKit

func graph(after handle: ProcedureHandle<Int>) -> ProcedureGraph<Void, Void> {
  ProcedureGraph("graph") { g in
    g.add(ProcedureTask("index") {}, after: handle)
  }
}
