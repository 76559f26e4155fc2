// error: call can throw, but it is not marked with 'try'
import ProcedureKit

struct Page: Sendable {
  let host: String
}

func keyed(_ task: ProcedureTask<Page, Int>) {
  _ = task.keyed(by: \.host)
}
