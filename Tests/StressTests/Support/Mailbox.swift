import Synchronization

/// A mailbox in which one thread leaves items for another one.
final class Mailbox<Item: Sendable>: Sendable {
  private let items = Mutex<[Item]>([])

  func put(_ item: Item) {
    items.withLock { $0.append(item) }
  }

  func takeLast() -> Item? {
    items.withLock { $0.popLast() }
  }

  func takeAll() -> [Item] {
    items.withLock { items in
      defer { items = [] }
      return items
    }
  }
}
