// warning: a key path is one category for all inputs: to choose it by the input, use configured { input, procedure in procedure.exclusive(input.host) }
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

func exclusive(_ task: ProcedureTask<Page, Int>, _ path: KeyPath<Page, Int> & Sendable) throws {
  _ = try task.exclusive(\.host)  // here
  _ = try task.exclusive(\Page.host, \.number)  // here
  _ = try task.exclusive(path)  // here
  _ = task.exclusive(\Store.pages)
  _ = task.exclusive("pages", "stores").exclusive(Kind.page).exclusive([1, 2])
}
