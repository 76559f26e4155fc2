import Synchronization

/// Internal. An order to the owner of a task group; only the owner may add tasks to the group.
enum GroupOrder: Sendable {
  /// Add one worker.
  case add(@Sendable () async -> Void)
  /// Cancel all workers, also later ones.
  case cancelAll
}

/// Internal. Where the owner of a task group waits for orders.
final class GroupInbox: Sendable {
  private struct Contents {
    var orders: [GroupOrder] = []
    var isClosed = false
    var owner: Waiter?
  }

  private let contents = Mutex(Contents())

  /// Adds an order. A closed inbox ignores the order.
  func put(_ order: GroupOrder) {
    let owner = contents.withLock { contents -> Waiter? in
      guard !contents.isClosed else { return nil }
      contents.orders.append(order)
      return contents.owner.take()
    }
    owner?.resume()
  }

  /// No more orders follow; those that were added are still carried out.
  func close() {
    let owner = contents.withLock { contents in
      contents.isClosed = true
      return contents.owner.take()
    }
    owner?.resume()
  }

  /// The next orders, at least one; `nil` once the inbox is closed. Cancelling the caller changes nothing: a inbox is always closed.
  func next() async -> [GroupOrder]? {
    while true {
      let (orders, isClosed) = contents.withLock { ($0.orders.takeAll(), $0.isClosed) }
      if !orders.isEmpty { return orders }
      if isClosed { return nil }
      await Waiter.suspend { waiter in
        contents.withLock { contents in
          guard contents.orders.isEmpty, !contents.isClosed else { return false }
          contents.owner = waiter
          return true
        }
      }
    }
  }
}
