import Synchronization

/// Internal. What the owner of a task group is asked to do; only the owner may add tasks to its group.
enum CrewOrder: Sendable {
  /// Add one worker.
  case add(priority: TaskPriority?, work: @Sendable () async -> Void)
  /// Cancel all workers, those to come included.
  case cancelAll
}

/// Internal. Where the owner of a task group waits for orders, and everybody else leaves them.
final class CrewDesk: Sendable {
  private struct Contents {
    var orders: [CrewOrder] = []
    var isClosed = false
    var owner: Waiter?
  }

  private let contents = Mutex(Contents())

  /// Leaves an order. Says whether it will be carried out: not if the desk has been closed.
  @discardableResult
  func place(_ order: CrewOrder) -> Bool {
    let (owner, isOpen) = contents.withLock { contents -> (Waiter?, Bool) in
      guard !contents.isClosed else { return (nil, false) }
      contents.orders.append(order)
      return (contents.owner.take(), true)
    }
    owner?.resume()
    return isOpen
  }

  /// No more orders follow; those that were placed are still carried out.
  func close() {
    let owner = contents.withLock { contents in
      contents.isClosed = true
      return contents.owner.take()
    }
    owner?.resume()
  }

  /// The next orders, at least one; `nil` once the desk is closed. Cancelling the caller changes nothing: a desk is closed
  /// in any case.
  func next() async -> [CrewOrder]? {
    while true {
      let orders = contents.withLock { $0.orders.takeAll() }
      if !orders.isEmpty { return orders }
      var isClosed = false
      await Waiter.suspend { waiter in
        contents.withLock { contents in
          isClosed = contents.isClosed && contents.orders.isEmpty
          guard !isClosed, contents.orders.isEmpty else { return false }
          contents.owner = waiter
          return true
        }
      }
      if isClosed { return nil }
    }
  }
}
