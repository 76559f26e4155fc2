// error: the key is a value: set it when you add or run the procedure
import ProcedureKit

func keyed() -> ProcedureTask<String, Int> {
  ProcedureTask("count") { (name: String) in name.count }.keyed { $0 }
}
