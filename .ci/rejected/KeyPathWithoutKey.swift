// warning: a key path is one key for all inputs unless its value is Hashable and Sendable: use coalesced
import ProcedureKit

struct Picture: Sendable {}

struct Page: Sendable {
  let host: String
  let picture: Picture
}

struct Store: Sendable {
  let pages: Int
}

func coalesced(
  _ task: ProcedureTask<Page, Int>, _ path: KeyPath<Page, String> & Sendable, _ part: PartialKeyPath<Page> & Sendable
) throws {
  _ = try task.coalesced(by: \.picture)  // here
  _ = try task.coalesced(by: \Page.picture)  // here
  _ = try task.coalesced(by: part)  // here
  _ = task.coalesced(by: \.host).coalesced(by: \Page.host).coalesced(by: path)
  _ = task.coalesced(by: \Store.pages).coalesced(by: "host").coalesced(by: [1, 2], in: CoalescingScope())
  _ = task.coalesced { $0.host }
}
