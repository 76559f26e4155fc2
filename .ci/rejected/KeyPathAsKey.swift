// warning: a key path is one key for all inputs: set the key when you add or run the procedure
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

func keyed(_ task: ProcedureTask<Page, Int>, _ path: KeyPath<Page, Int> & Sendable) throws {
  _ = try task.keyed(by: \.host)  // here
  _ = try task.keyed(by: \Page.host, weight: 2)  // here
  _ = try task.keyed(by: path)  // here
  _ = task.keyed(by: \Store.pages)
  _ = task.keyed(by: "pages").keyed(by: Kind.page, weight: 2).keyed(by: [1, 2]).keyed(by: 1)
}
