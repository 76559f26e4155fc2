// error: a resource is a value: to choose it by the input, use configured
import ProcedureKit

func exclusive() -> ProcedureTask<String, Int> {
  ProcedureTask("count") { (name: String) in name.count }.exclusive { $0 }
}
