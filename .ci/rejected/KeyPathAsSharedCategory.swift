// warning: a key path is one category for all inputs: to choose it by the input, use configured { input, procedure in procedure.shared(input.host) }
import ProcedureKit

struct Page: Sendable {
  let host: String
  let number: Int
}

struct Store: Sendable {
  let pages: Int
}

enum Kind: Sendable {
  case page
}

func shared(_ task: ProcedureTask<Page, Int>, _ path: KeyPath<Page, Int> & Sendable) throws {
  _ = try task.shared(\.host)  // here
  _ = try task.shared(\Page.host, \.number)  // here
  _ = try task.shared(path)  // here
  _ = task.shared(\Store.pages)
  _ = task.shared("pages", "stores").shared(Kind.page).shared([1, 2])
}
