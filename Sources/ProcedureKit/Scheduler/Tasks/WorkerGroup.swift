import Synchronization

/// Internal. An order to the owner of a task group; only the owner may add tasks to the group.
enum WorkerCommand: Sendable {
  /// Add one worker.
  case add(@Sendable () async -> Void)
  /// Cancel all workers, also later ones.
  case cancelAll
}

/// Internal. Where the owner of a task group waits for orders.
final class WorkerGroup: Sendable {
  private struct Contents {
    var orders: [WorkerCommand] = []
    var isClosed = false
    var owner: Waiter?
  }

  private let contents = Mutex(Contents())

  /// Adds an order. A closed inbox ignores the order.
  func send(_ order: WorkerCommand) {
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
  func next() async -> [WorkerCommand]? {
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

/// The task groups of a queue: a few hundred children each at most.
///
/// The runtime finds a child that ends by going through its group, so that one group of many thousand children would cost quadratic time.
struct WorkerGroups: Sendable {
  private static let mostMembers = 256

  private struct Group {
    let inbox: WorkerGroup
    var members = 0
  }

  private var groups: [Group] = []

  /// The inboxes of all groups.
  var inboxes: [WorkerGroup] { groups.map(\.inbox) }

  /// One more task joins a group. The owner of a new group has to be started.
  mutating func joined() -> (inbox: WorkerGroup, isNew: Bool) {
    if let index = groups.lastIndex(where: { $0.members < Self.mostMembers }) {
      groups[index].members += 1
      return (groups[index].inbox, false)
    }
    groups.append(Group(inbox: WorkerGroup(), members: 1))
    return (groups[groups.count - 1].inbox, true)
  }

  /// A task of a group has ended. Returns the inbox if it has to be closed: the last group stays.
  mutating func left(_ inbox: WorkerGroup) -> WorkerGroup? {
    guard let index = groups.firstIndex(where: { $0.inbox === inbox }) else { return nil }
    groups[index].members -= 1
    guard groups[index].members == 0, groups.count > 1 else { return nil }
    return groups.remove(at: index).inbox
  }
}

/// A task that executes the bodies of a queue, one after another.
///
/// The worker goes straight on with the next run. A worker whose body was cancelled takes no further one, so that a late cancel reaches
/// nobody else.
final class Worker: Sendable {
  private let task = CancellableTask()

  /// Cancels the task of the worker, while it lives.
  func cancel() { task.cancel() }

  /// Whether the current task is that of the worker, and none that a body has started.
  var isCurrent: Bool { task.isCurrent }

  @concurrent static func work(for core: QueueCore) async {
    let worker = Worker()
    await worker.task.executeHere {
      var yieldPolicy = YieldPolicy(core.time)
      var job = core.nextJob(for: worker, isStarting: true)
      while let current = job {
        job = await current.run.execute(current.startedBody, by: worker)
        if yieldPolicy.shouldYield() { await Task.yield() }
      }
    }
  }
}
